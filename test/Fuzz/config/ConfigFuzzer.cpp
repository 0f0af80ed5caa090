//===- ConfigFuzzer.cpp - Fuzz target of model descriptions ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a description in JSON and imports the model. Each step must return an error with a text, or a result that the
// next step accepts. The module must verify, and its parameters must have as many elements as the description counts.
//
//===----------------------------------------------------------------------===//

#include "FuzzContext.h"
#include "config/DescriptionMutator.h"
#include "cs336/Frontend/ImportTransformer.h"
#include "cs336/Frontend/StepFlops.h"
#include "cs336/Support/ReadJSON.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace cs336;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// Layers are unrolled: more of them take longer and test nothing new.
static constexpr int64_t kMostLayers = 3;

static int64_t countParameters(func::FuncOp function) {
  int64_t elements = 0;
  for (BlockArgument argument : function.getArguments()) {
    auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), CS336Dialect::kKindAttr);
    if (kind && kind.getValue() == "parameter")
      elements += cast<ShapedType>(argument.getType()).getNumElements();
  }
  return elements;
}

static void importModel(const ModelDescription &description) {
  fuzz::FuzzContext &context = fuzz::FuzzContext::renew();
  FailureOr<OwningOpRef<ModuleOp>> module = importTransformer(description, UnknownLoc::get(context.get()));
  if (failed(module)) {
    fuzz::require(context.hasError(), "a description is refused without an error");
    return;
  }
  fuzz::require(succeeded(verify(**module)), "an imported module does not verify");
  for (func::FuncOp function : (*module)->getOps<func::FuncOp>())
    fuzz::require(countParameters(function) == description.transformer.getParameterCount(),
                  "a function has another number of parameters than its description");
  fuzz::require(std::isfinite(getModelFlops(description.transformer, description.mode)), "FLOPs are not finite");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::Expected<ModelDescription> description =
      ModelDescription::fromJSON({reinterpret_cast<const char *>(data), size});
  if (!description) {
    fuzz::require(!llvm::toString(description.takeError()).empty(), "a text is refused without an error");
    return 0;
  }
  if (description->transformer.numLayers <= kMostLayers)
    importModel(*description);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  fuzz::DescriptionMutator mutator(seed);
  llvm::Expected<llvm::json::Value> value = readJSON({reinterpret_cast<const char *>(data), size});
  if (!value || mutator.isOneIn(8)) {
    if (!value)
      llvm::consumeError(value.takeError());
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  mutator.mutate(*value);
  std::string text = llvm::formatv("{0}", *value);
  if (text.size() > maxSize)
    return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
