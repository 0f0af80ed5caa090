//===- ModuleFuzzer.cpp - Fuzz target from IR to a run --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes a module as text, in the cs336 dialect or lowered to the exec dialect. The compiler must reject it with an
// error or compile it for the CPU. The executable runs in a session, and command by command with guard pages around
// every operand. The runtime may reject modules that were lowered and planned by hand, but not those of the pipeline.
// The mutator changes modules in memory, so that the text remains readable for MLIR's parser.
//
//===----------------------------------------------------------------------===//

#include "FuzzContext.h"
#include "ModuleMutator.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Support/Nesting.h"
#include "cs336/runtime/Executable.h"
#include "fuzz/GuardedRun.h"
#include "fuzz/SessionRun.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Parser/Parser.h"

#include <cstring>

using namespace mlir;
using namespace cs336;

/// Larger modules take long and test nothing new.
static constexpr size_t kMostText = 32 << 10;
static constexpr int64_t kMostElements = 1 << 14;
static constexpr size_t kMostOperations = 200;

static OwningOpRef<ModuleOp> parse(fuzz::FuzzContext &context, const uint8_t *data, size_t size) {
  StringRef text(reinterpret_cast<const char *>(data), size);
  // No bytes may have no address, from which MLIR's parser reads the end of its text.
  if (text.empty() || size > kMostText || text.contains('\0'))
    return {};
  if (llvm::Error error = checkNesting({text, "module"})) {
    llvm::consumeError(std::move(error));
    return {};
  }
  return parseSourceString<ModuleOp>(text, context.get(), "module");
}

static bool isSmall(ModuleOp module) {
  size_t operations = 0;
  bool small = true;
  auto checkType = [&](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped || !shaped.hasStaticShape())
      return;
    int64_t elements = 1;
    for (int64_t size : shaped.getShape())
      if (llvm::MulOverflow(elements, size, elements) || elements > kMostElements)
        small = false;
  };
  module->walk([&](Operation *op) {
    ++operations;
    llvm::for_each(op->getResultTypes(), checkType);
    llvm::for_each(op->getOperandTypes(), checkType);
  });
  return small && operations <= kMostOperations;
}

static void run(const std::vector<uint8_t> &bytes, bool isPlannedByHand) {
  using runtime::Executable;
  absl::StatusOr<std::shared_ptr<const Executable>> executable = Executable::FromBytes({bytes.data(), bytes.size()});
  fuzz::require(executable.ok() || isPlannedByHand,
                "a compiled executable does not load: " + std::string(executable.status().message()));
  if (!executable.ok())
    return;
  static runtime::testing::GuardedRunner &runner = *new runtime::testing::GuardedRunner;
  runner.Run(**executable).IgnoreError();
  runtime::testing::RunInSession(*executable).IgnoreError();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::FuzzContext &context = fuzz::FuzzContext::renew(registerDialects);
  OwningOpRef<ModuleOp> module = parse(context, data, size);
  if (!module || !isSmall(*module))
    return 0;
  bool isLowered = !module->getOps<exec::EntryOp>().empty();
  CompileOptions options;
  options.cpu = "generic";
  options.cacheFolder.clear();
  FailureOr<std::vector<uint8_t>> bytes = compileModule(*module, options);
  if (succeeded(bytes))
    run(*bytes, isLowered);
  else
    fuzz::require(context.hasError(), "a module does not compile, without an error");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  fuzz::FuzzContext &context = fuzz::FuzzContext::renew(registerDialects);
  OwningOpRef<ModuleOp> module = parse(context, data, size);
  if (!module)
    return 0;
  fuzz::ModuleMutator mutator(seed);
  for (unsigned changes = 1 + seed % 3; changes != 0; --changes)
    mutator.mutate(*module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().printGenericOpForm().enableDebugInfo(false));
  if (text.size() > std::min(maxSize, kMostText))
    return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
