//===- MergedKernel.cpp - One kernel for several launches -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergedKernel.h"

#include "cs336/Dialect/Exec/IR/KernelNames.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

KernelOp cuda::mergeKernels(ArrayRef<KernelOp> kernels, ArrayRef<bool> isShared, Location loc) {
  OpBuilder builder(loc.getContext());
  auto getTypes = [&](unsigned member) { return KernelOp(kernels[member]).getInTypes(); };
  SmallVector<Type> inputs = collectInputs<Type>(kernels.size(), isShared, getTypes), outputs;
  for (KernelOp kernel : kernels)
    llvm::append_range(outputs, kernel.getOutTypes());

  auto merged = KernelOp::create(builder, loc, "batch", builder.getFunctionType(inputs, outputs));
  Block &body = merged.getBody().emplaceBlock();
  auto getArguments = [&](unsigned member) { return KernelOp(kernels[member]).getBody().getArguments(); };
  SmallVector<BlockArgument> originals = collectInputs<BlockArgument>(kernels.size(), isShared, getArguments);
  for (BlockArgument original : originals)
    body.addArgument(original.getType(), original.getLoc());

  builder.setInsertionPointToStart(&body);
  unsigned numShared = llvm::count(isShared, true), next = 0;
  SmallVector<Value> yielded;
  for (KernelOp kernel : kernels) {
    IRMapping mapping;
    unsigned nextShared = originals.size() - numShared;
    for (auto [argument, shared] : llvm::zip_equal(kernel.getBody().getArguments(), isShared))
      mapping.map(argument, body.getArgument(shared ? nextShared++ : next++));
    for (Operation &op : kernel.getBody().front().without_terminator())
      builder.clone(op, mapping);
    for (Value value : kernel.getYieldedValues())
      yielded.push_back(mapping.lookup(value));
  }
  exec::YieldOp::create(builder, loc, yielded);

  KernelOp first = kernels.front();
  auto operations = llvm::make_pointer_range(first.getBody().front().without_terminator());
  nameByContents(merged, describeOperations(llvm::to_vector(operations)) + "_batch");
  return merged;
}
