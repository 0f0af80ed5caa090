//===- RecomputationLadder.cpp - What is computed again first -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputationLadder.h"

#include "RecomputedSpan.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace mlir;
using namespace cs336;

/// Returns whether the operation takes at most one pass over its operands and its result.
static bool isCheap(Operation *op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  if (isa<ViewOpInterface>(op) || !fusible)
    return isa<ViewOpInterface>(op);
  return fusible.getFusionKind() == FusionKind::Pointwise || fusible.getFusionKind() == FusionKind::Assembly ||
         fusible.isRematerializable();
}

/// Returns the FLOPs of a GEMM per byte of its result.
static double getFlopsPerByte(MatmulOp matmul) {
  return static_cast<double>(matmul.getFlops()) / static_cast<double>(getTensorBytes(matmul.getResult()));
}

RecomputationLadder::RecomputationLadder(ArrayRef<ProgramBlock> blocks, const DenseSet<Operation *> &forward) {
  ArrayRef<Operation *> operations = blocks.front().operations;
  RecomputedSpan all(blocks.take_front(), forward, [](Operation *) { return true; });
  SmallVector<size_t> gemms, others, attentions;
  SmallVector<size_t> rungOf(operations.size(), 0);
  for (auto [index, op] : llvm::enumerate(operations)) {
    if (!all.getCopied().contains(op))
      continue;
    if (isa<MatmulOp>(op))
      gemms.push_back(index);
    else if (isCheap(op))
      rungOf[index] = numRungs = 1;
    else
      (isa<AttentionOp>(op) ? attentions : others).push_back(index);
  }
  // Ties are broken by size: fewer launches per byte.
  llvm::stable_sort(gemms, [&](size_t left, size_t right) {
    auto key = [&](size_t index) {
      auto matmul = cast<MatmulOp>(operations[index]);
      return std::tuple(getFlopsPerByte(matmul), -getTensorBytes(matmul.getResult()));
    };
    return key(left) < key(right);
  });
  for (size_t index : gemms)
    rungOf[index] = ++numRungs;
  for (ArrayRef<size_t> together : {ArrayRef(others), ArrayRef(attentions)}) {
    numRungs += !together.empty();
    for (size_t index : together)
      rungOf[index] = numRungs;
  }

  for (const ProgramBlock &block : blocks)
    for (auto [op, rung] : llvm::zip_equal(block.operations, rungOf))
      if (rung != 0)
        rungs[op] = rung;
}

bool RecomputationLadder::includes(size_t rung, Operation *op) const {
  size_t lowest = rungs.lookup(op);
  return lowest != 0 && lowest <= rung;
}
