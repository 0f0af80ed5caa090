//===- DumpFiles.cpp - What --dump-dir writes -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DumpFiles.h"

#include "cs336/Codegen/Passes.h"
#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Support/WriteOutput.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace cs336;

static OpPrintingFlags getPrintingFlags() { return OpPrintingFlags().enableDebugInfo(); }

FailureOr<std::string> cs336::createPassesFolder(MLIRContext *context, StringRef folder) {
  // The system would create a folder whose name ends at the NUL.
  if (folder.contains('\0'))
    return emitError(UnknownLoc::get(context))
           << "cannot make the folder '" << folder.take_until([](char c) { return c == '\0'; })
           << "\\00…': a folder's name cannot hold a NUL character";
  SmallString<128> passes(folder);
  llvm::sys::path::append(passes, "passes");
  if (std::error_code error = llvm::sys::fs::create_directories(passes))
    return emitError(UnknownLoc::get(context)) << "cannot make the folder '" << passes << "': " << error.message();
  return passes.str().str();
}

static LogicalResult writeFile(ModuleOp module, StringRef folder, StringRef name,
                               function_ref<void(raw_ostream &)> print) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  if (llvm::Error error = writeDump(path, print))
    return emitError(UnknownLoc::get(module.getContext()))
           << "cannot write '" << path << "': " << llvm::toString(std::move(error));
  return success();
}

static int64_t getBytes(MemRefType type) {
  int64_t bits = type.getElementTypeBitWidth();
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

static void printPlan(exec::EntryOp entry, raw_ostream &stream) {
  SmallVector<exec::ArenaOpInterface> buffers(entry.getBody().getOps<exec::ArenaOpInterface>());
  llvm::stable_sort(buffers, [](exec::ArenaOpInterface a, exec::ArenaOpInterface b) {
    return a.getOffset().value_or(0) < b.getOffset().value_or(0);
  });
  stream << "entry " << entry.getSymName() << ": arena of " << entry.getArenaBytes().value_or(0) << " bytes, "
         << buffers.size() << " buffers\n";
  stream << "      offset        bytes  type, source\n";
  for (exec::ArenaOpInterface buffer : buffers) {
    MemRefType type = buffer.getBuffer().getType();
    stream << llvm::format("%12lld %12lld  ", static_cast<long long>(buffer.getOffset().value_or(0)),
                           static_cast<long long>(getBytes(type)))
           << type << ", " << exec::printLocation(buffer.getLoc()) << "\n";
  }
  stream << "\n";
}

LogicalResult cs336::dumpPlan(ModuleOp module, StringRef folder) {
  if (failed(writeFile(module, folder, "planned.mlir",
                       [&](raw_ostream &stream) { module.print(stream, getPrintingFlags()); })))
    return failure();
  return writeFile(module, folder, "plan.txt", [&](raw_ostream &stream) {
    for (exec::EntryOp entry : module.getOps<exec::EntryOp>())
      printPlan(entry, stream);
  });
}

LogicalResult cs336::dumpLinalg(ModuleOp module, StringRef folder) {
  OwningOpRef<ModuleOp> kernels = module.clone();
  PassManager manager(module.getContext(), module.getOperationName());
  manager.addPass(createKernelsToLinalgPass());
  // Pads and concatenations write a box of their result, which linalg's verifier rejects.
  manager.enableVerifier(false);
  OpPrintingFlags flags = getPrintingFlags().assumeVerified();
  if (failed(manager.run(*kernels)))
    return failure();
  return writeFile(module, folder, "kernels.linalg.mlir", [&](raw_ostream &stream) { kernels->print(stream, flags); });
}

LogicalResult cs336::dumpObject(ModuleOp module, ArrayRef<uint8_t> object, StringRef folder) {
  return writeFile(module, folder, "kernels.so", [&](raw_ostream &stream) { stream << llvm::toStringRef(object); });
}
