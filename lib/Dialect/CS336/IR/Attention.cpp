//===- Attention.cpp - Rules, cost and gradient of attention --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarConversion.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/ScoreDistances.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cs336;

//===----------------------------------------------------------------------===//
// Sizes and types
//===----------------------------------------------------------------------===//

template <typename Op>
static typename Op::Sizes getSizesOf(Op op) {
  ArrayRef<int64_t> query = tensorType(op.getQuery()).getShape(), key = tensorType(op.getKey()).getShape();
  return {query[0], query[1], key[1], query[2], key[2], query[2] / key[2], query[3]};
}

AttentionOp::Sizes AttentionOp::getSizes() { return getSizesOf(*this); }
AttentionBackwardOp::Sizes AttentionBackwardOp::getSizes() { return getSizesOf(*this); }

/// Returns the type of log_sum_exp: [B, H, Sq], not narrower than float32.
static RankedTensorType getLogSumExpType(RankedTensorType query) {
  return RankedTensorType::get({query.getDimSize(0), query.getDimSize(2), query.getDimSize(1)},
                               getComputeType(query.getElementType()));
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query, Value key, Value value, double scale,
                        bool causal) {
  build(builder, state, query.getType(), getLogSumExpType(tensorType(query)), query, key, value,
        /*tables=*/ValueRange(), builder.getF64FloatAttr(scale), causal ? builder.getUnitAttr() : UnitAttr());
}

void AttentionBackwardOp::build(OpBuilder &builder, OperationState &state, AttentionOp forward, Value gradient) {
  Type query = forward.getQuery().getType(), key = forward.getKey().getType();
  build(builder, state, {query, key, key}, forward.getQuery(), forward.getKey(), forward.getValue(),
        forward.getOutput(), forward.getLogSumExp(), gradient, forward.getTables(), forward.getScaleAttr(),
        forward.getCausalAttr(), forward.getPrecisionAttr());
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult verifyAttention(Op op) {
  RankedTensorType query = tensorType(op.getQuery()), key = tensorType(op.getKey());
  if (query.getRank() != 4 || key.getRank() != 4)
    return op.emitOpError() << "requires operands [batch, positions, heads, head_dim], has " << query << " and " << key;
  if (query.getElementType() != key.getElementType())
    return op.emitOpError() << "element types differ: " << query << " and " << key << "; insert a cs336.cast";
  if (query.getDimSize(0) != key.getDimSize(0))
    return op.emitOpError() << "batches differ: " << query.getDimSize(0) << " of queries and " << key.getDimSize(0)
                            << " of keys";
  if (query.getDimSize(3) != key.getDimSize(3))
    return op.emitOpError() << "head_dim differs: " << query.getDimSize(3) << " of queries and " << key.getDimSize(3)
                            << " of keys";
  if (llvm::is_contained(query.getShape(), 0) || llvm::is_contained(key.getShape(), 0))
    return op.emitOpError() << "requires at least one query, key, head and feature, has " << query << " and " << key;
  if (query.getDimSize(2) % key.getDimSize(2) != 0)
    return op.emitOpError() << "number of query heads must be a multiple of that of key heads: " << query.getDimSize(2)
                            << " is not a multiple of " << key.getDimSize(2);
  if (op.getLogSumExp().getType() != getLogSumExpType(query))
    return op.emitOpError() << "log_sum_exp must be [batch, heads, queries], not narrower than f32: "
                            << getLogSumExpType(query) << ", is " << op.getLogSumExp().getType();
  if (!op.getScale().isFinite() || !(op.getScale().convertToDouble() > 0))
    return op.emitOpError() << "scale must be positive and finite";
  return success();
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }
LogicalResult AttentionBackwardOp::verify() { return verifyAttention(*this); }

LogicalResult AttentionOp::verifyRegions() { return verifyScoreFunction(*this, /*numResults=*/1); }
LogicalResult AttentionBackwardOp::verifyRegions() { return verifyScoreFunction(*this, /*numResults=*/2); }

//===----------------------------------------------------------------------===//
// Policy, cost, gradient
//===----------------------------------------------------------------------===//

AutocastPolicy AttentionOp::getAutocastPolicy() { return AutocastPolicy::Low; }
void AttentionOp::allowTF32() { setPrecision(Precision::TF32); }
bool AttentionOp::keepsResultType(unsigned result) {
  return result == cast<OpResult>(getLogSumExp()).getResultNumber();
}

bool AttentionOp::keepsOperandType(unsigned operand) {
  // The tables are the last operands.
  return operand >= getNumOperands() - getTables().size();
}

/// Returns the number of pairs of query and key that the operation computes a score of, for all batches and heads.
template <typename Op>
static int64_t countPairs(Op op) {
  auto sizes = op.getSizes();
  int64_t perHead = ScoreDistances::analyze(op).visible.countPairs(sizes.queries, sizes.keys);
  return multiplySaturating(perHead, sizes.batch * sizes.heads);
}

/// Returns the FLOPs of two matmuls of [Sq, D] by [D, Sk] per head. A causal mask leaves half of them; with a score
/// function, the pairs at visible distances count.
template <typename Op>
static int64_t countForward(Op op) {
  auto sizes = op.getSizes();
  if (op.hasScoreFunction())
    return multiplySaturating(countPairs(op), 4 * sizes.headDim);
  // Halved for a causal mask before it can saturate.
  int64_t perPair = (op.getCausal() ? 2 : 4) * sizes.headDim;
  return multiplySaturating(multiplySaturating(perPair, sizes.keys), sizes.batch * sizes.heads * sizes.queries);
}

/// Returns the FLOPs of the score function.
template <typename Op>
static int64_t countFunction(Op op) {
  return op.hasScoreFunction() ? multiplySaturating(countPairs(op), countScoreFlops(op.getScoreFunction())) : 0;
}

int64_t AttentionOp::getFlops() { return addSaturating(countForward(*this), countFunction(*this)); }
/// Counts five matmuls: the scores again, then four gradients.
int64_t AttentionBackwardOp::getFlops() {
  return addSaturating(multiplySaturating(countForward(*this) / 2, 5), countFunction(*this));
}

LogicalResult AttentionOp::buildAdjoint(OpBuilder &builder, ValueRange gradients,
                                        SmallVectorImpl<Value> &operandGradients) {
  if (gradients[1])
    return emitOpError() << "has no gradient of log_sum_exp, which the loss depends on; compute it from the scores";
  auto backward = AttentionBackwardOp::create(builder, getLoc(), *this, gradients[0]);
  llvm::append_range(operandGradients, backward.getResults());
  if (!hasScoreFunction())
    return success();
  IRMapping mapping;
  getScore().cloneInto(&backward.getScore(), mapping);
  if (failed(appendScoreDerivative(backward.getScoreFunction())))
    return failure();
  FailureOr<SmallVector<Value>> ofTables = buildTableGradients(*this, builder, gradients[0]);
  if (failed(ofTables))
    return failure();
  llvm::append_range(operandGradients, *ofTables);
  return success();
}
