//===- KernelSignatures.cpp - What kernels' code assumes of launches ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/Executable/KernelSignatures.h"
#include "cs336/Target/Executable/FormatTypes.h"

#include "cs336/Dialect/Exec/IR/IndexVerifier.h"
#include "cs336/runtime/format/KernelSignature.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

KernelSignatures::KernelSignatures(ModuleOp module) {
  module.walk([&](LaunchOp launch) {
    llvm::SmallDenseMap<Value, SmallVector<unsigned, 1>> inputs;
    for (auto [in, input] : llvm::enumerate(launch.getInputs()))
      inputs[input].push_back(in);
    for (auto [out, output] : llvm::enumerate(launch.getOutputs()))
      for (unsigned in : inputs.lookup(output))
        writtenOver[launch.getKernel()].insert({out, in});
  });
  SymbolTableCollection symbols;
  for (auto entry : module.getOps<EntryOp>()) {
    [[maybe_unused]] LogicalResult verified = verifyIndices(
        entry, symbols, [&](LaunchOp launch, ArrayRef<IntegerValueRange> operands) { addRanges(launch, operands); });
    assert(succeeded(verified) && "the module has been verified");
  }
}

void KernelSignatures::addRanges(LaunchOp launch, ArrayRef<IntegerValueRange> operands) {
  Ranges known;
  for (const IntegerValueRange &operand : operands) {
    std::optional<std::pair<int64_t, int64_t>> &range = known.emplace_back();
    if (operand.isUninitialized())
      continue;
    const APInt &least = operand.getValue().smin(), &most = operand.getValue().smax();
    // Memory has a byte for each i1, which kernels read as one bit.
    bool isBounded = least.getBitWidth() > 1 && !(least.isMinSignedValue() && most.isMaxSignedValue());
    if (isBounded)
      range = {least.getSExtValue(), most.getSExtValue()};
  }
  auto &ofKernel = ranges[launch.getKernel()];
  variants[launch] = ofKernel.try_emplace(std::move(known), ofKernel.size()).first->second;
}

static std::unique_ptr<format::OperandSignatureT> describe(MemRefType type) {
  auto operand = std::make_unique<format::OperandSignatureT>();
  BufferLayout layout(type);
  operand->dtype = toFormat(layout.elementType);
  operand->shape.assign(layout.sizes.begin(), layout.sizes.end());
  operand->strides.assign(layout.strides.begin(), layout.strides.end());
  operand->alignment = getElementBytes(layout.elementType);
  return operand;
}

void KernelSignatures::describeRanges(KernelOp kernel, format::SignatureT &signature) const {
  auto ofKernel = ranges.find(kernel.getSymName());
  if (ofKernel == ranges.end())
    return;
  for (auto [i, operand] : llvm::enumerate(signature.operands)) {
    auto isKnown = [i = i](const auto &variant) { return variant.first[i].has_value(); };
    if (!llvm::any_of(ofKernel->second, isKnown))
      continue;
    operand->ranges.assign(ofKernel->second.size(), format::AnyInteger());
    for (const auto &[known, variant] : ofKernel->second)
      if (known[i])
        operand->ranges[variant] = {known[i]->first, known[i]->second};
  }
}

std::unique_ptr<format::SignatureT> KernelSignatures::describe(KernelOp kernel, const CompiledKernel &compiled) const {
  auto signature = std::make_unique<format::SignatureT>();
  for (Type type : llvm::concat<const Type>(kernel.getInTypes(), kernel.getOutTypes()))
    signature->operands.push_back(::describe(cast<MemRefType>(type)));
  for (auto [operand, alignment] : llvm::zip(signature->operands, compiled.alignments))
    operand->alignment = alignment;
  size_t numInputs = kernel.getInTypes().size();
  for (size_t i = numInputs; i < signature->operands.size(); ++i)
    signature->operands[i]->is_written = true;
  if (auto pairs = writtenOver.find(kernel.getSymName()); pairs != writtenOver.end())
    for (auto [out, in] : pairs->second)
      signature->operands[numInputs + out]->written_over.push_back(in);
  describeRanges(kernel, *signature);
  signature->rows = compiled.rows;
  signature->thread_bytes = compiled.threadBytes;
  signature->workspace_bytes = compiled.getWorkspaceBytes();
  return signature;
}
