//===- KernelSignatures.cpp - What kernels' code assumes of launches ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/Executable/KernelSignatures.h"

#include "FormatTypes.h"

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
  signature->rows = compiled.rows;
  signature->thread_bytes = compiled.threadBytes;
  signature->workspace_bytes = compiled.workspaceBytes;
  return signature;
}
