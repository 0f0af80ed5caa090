//===- Program.cpp - What a tool was asked to run -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/Program.h"

#include "cs336/Diagnostics/PositionHandler.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Support/Nesting.h"
#include "cs336/Support/ReadInput.h"
#include "cs336/runtime/format/ExecutableFile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

using namespace mlir;
using namespace cs336;
using runtime::Executable;

absl::StatusOr<std::shared_ptr<const Executable>> cs336::compileProgram(std::unique_ptr<llvm::MemoryBuffer> text,
                                                                        StringRef name, const CompileOptions &options) {
  if (llvm::Error error = checkIsReadableIR(text->getMemBufferRef()))
    return absl::InvalidArgumentError(llvm::toString(std::move(error)));
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
  SourceMgrDiagnosticHandler printer(sources, &context);
  PositionHandler positions(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return absl::InvalidArgumentError(absl::StrCat(name.str(), ": is neither an executable nor IR that can be read"));
  FailureOr<std::vector<uint8_t>> bytes = compileModule(*module, options);
  if (failed(bytes))
    return absl::InvalidArgumentError(absl::StrCat(name.str(), ": could not be compiled"));
  return Executable::FromBytes(*bytes);
}

absl::StatusOr<LoadedProgram> cs336::loadProgram(StringRef path, const CompileOptions &options) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInput(path);
  if (!file)
    return absl::InvalidArgumentError(llvm::toString(file.takeError()));
  // A file that starts like an executable is read as one, so that a damaged file is reported as damaged.
  StringRef magic(format::kMagic, format::kMagicSize);
  bool isIR = !(*file)->getBuffer().starts_with(magic.take_front(6)) && !path.ends_with(".cs336x");
  absl::StatusOr<std::shared_ptr<const Executable>> executable;
  if (isIR) {
    executable = compileProgram(std::move(*file), path, options);
  } else {
    ArrayRef<uint8_t> bytes = llvm::arrayRefFromStringRef((*file)->getBuffer());
    executable = Executable::FromBytes({bytes.data(), bytes.size()});
    if (!executable.ok())
      return absl::Status(executable.status().code(), absl::StrCat(path.str(), ": ", executable.status().message()));
  }
  if (!executable.ok())
    return executable.status();
  return LoadedProgram{*std::move(executable), isIR};
}

absl::StatusOr<const format::EntryT *> cs336::findEntry(const Executable &executable, StringRef name) {
  std::string names =
      absl::StrJoin(executable.entries(), ", ", [](std::string *out, const auto &entry) { *out += entry->name; });
  if (!name.empty()) {
    if (const format::EntryT *entry = executable.FindEntry(name.str()))
      return entry;
    return absl::NotFoundError(absl::StrCat("there is no entry '", name.str(), "'; the entries are ", names));
  }
  // The entry `prepare` runs automatically, so it is not a candidate.
  const format::EntryT *only = nullptr;
  int64_t count = 0;
  for (const auto &entry : executable.entries())
    if (entry->mode != format::Mode::prepare) {
      only = entry.get();
      ++count;
    }
  if (count == 1)
    return only;
  for (absl::string_view preferred : {"train", "forward_backward", "loss", "forward"})
    if (const format::EntryT *entry = executable.FindEntry(preferred))
      return entry;
  return absl::InvalidArgumentError(absl::StrCat("choose one of the entries with --entry: ", names));
}
