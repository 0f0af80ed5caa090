//===- Costs.cpp - FLOPs and bytes of operations -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

using namespace mlir;
using namespace cs336;

static int64_t count(Value value) { return tensorType(value).getNumElements(); }
static int64_t countTimes(int64_t factor, Value value) { return multiplySaturating(factor, count(value)); }

int64_t cs336::getTensorBytes(Value value) {
  RankedTensorType type = tensorType(value);
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

static int64_t getBytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (isa<RankedTensorType>(value.getType()))
      bytes = addSaturating(bytes, getTensorBytes(value));
  return bytes;
}

int64_t cs336::detail::getOperandAndResultBytes(Operation *op) {
  return addSaturating(getBytesOf(op->getOperands()), getBytesOf(op->getResults()));
}

//===----------------------------------------------------------------------===//
// Sources, layout, reductions, matmuls
//===----------------------------------------------------------------------===//

int64_t ConstantOp::getFlops() { return 0; }
int64_t IotaOp::getFlops() { return 0; }
int64_t BroadcastOp::getFlops() { return 0; }
int64_t ReshapeOp::getFlops() { return 0; }
int64_t TransposeOp::getFlops() { return 0; }
int64_t SliceOp::getFlops() { return 0; }
int64_t PadOp::getFlops() { return 0; }
int64_t ConcatOp::getFlops() { return 0; }
int64_t ReduceOp::getFlops() { return count(getOperand()); }
int64_t EmbeddingOp::getFlops() { return 0; }
int64_t EmbeddingOp::getReadBytes(OpOperand &operand) {
  int64_t bytes = getTensorBytes(operand.get());
  // The operation reads at most one row of its table per index.
  return &operand == &getTableMutable() ? std::min(bytes, getTensorBytes(getResult())) : bytes;
}
int64_t EmbeddingGradOp::getFlops() { return count(getGradient()); }

int64_t MatmulOp::getFlops() {
  Sizes sizes = getSizes();
  int64_t perElement = 2 * sizes.k + (getAddend() ? 1 : 0) + (getBias() ? 1 : 0) + (getRelu() ? 1 : 0);
  return countTimes(perElement, getResult());
}

//===----------------------------------------------------------------------===//
// Composites: the count of their usual decomposition
//===----------------------------------------------------------------------===//

int64_t LinearOp::getFlops() { return countTimes(2 * tensorType(getInput()).getShape().back(), getResult()); }
int64_t SiluOp::getFlops() { return countTimes(4, getResult()); }
int64_t ReluOp::getFlops() { return count(getResult()); }
int64_t GeluOp::getFlops() { return countTimes(getTanh() ? 9 : 5, getResult()); }
int64_t RMSNormOp::getFlops() { return countTimes(4, getResult()); }
int64_t LayerNormOp::getFlops() { return countTimes(8, getResult()); }
int64_t RoPEOp::getFlops() { return countTimes(3, getResult()); }
int64_t CrossEntropyOp::getFlops() { return countTimes(4, getLogits()); }

//===----------------------------------------------------------------------===//
// Groups, optimizer
//===----------------------------------------------------------------------===//

int64_t FusedOp::getFlops() {
  int64_t flops = 0;
  for (auto op : getBody().getOps<CostOpInterface>())
    flops = addSaturating(flops, op.getFlops());
  return flops;
}
int64_t BarrierOp::getFlops() { return 0; }
int64_t AdamWOp::getFlops() { return countTimes(16, getParameter()); }
