//===- Canonicalization.cpp - Rewrites of several operations --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simplifies the results of differentiation and of merged GEMMs: gradients of slices that together fill a tensor, and
// layout operations on layout operations. No pattern changes a rounding.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace cs336;

//===----------------------------------------------------------------------===//
// Add
//===----------------------------------------------------------------------===//

/// Collects the padded tensors that a tree of additions sums. Fails if the tree sums anything else, or more tensors
/// than fit side by side along the result's longest axis. This limits the time, because every addition is tried as a
/// root, and trees may be deep.
static bool collectPads(AddOp root, SmallVectorImpl<PadOp> &pads) {
  int64_t most = 0;
  for (int64_t size : shapeOf(root.getResult()))
    most = std::max(most, size);
  SmallVector<Value> waiting{root.getRhs(), root.getLhs()};
  while (!waiting.empty()) {
    if (static_cast<int64_t>(pads.size() + waiting.size()) > most)
      return false;
    Value value = waiting.pop_back_val();
    if (auto add = value.getDefiningOp<AddOp>(); add && add->hasOneUse()) {
      waiting.append({add.getRhs(), add.getLhs()});
    } else if (auto pad = value.getDefiningOp<PadOp>()) {
      pads.push_back(pad);
    } else {
      return false;
    }
  }
  return true;
}

/// Returns the axis along which `pad` is smaller than its result, if there is exactly one.
static std::optional<int64_t> getPaddedAxis(PadOp pad) {
  std::optional<int64_t> padded;
  for (auto [axis, sizes] : llvm::enumerate(llvm::zip_equal(shapeOf(pad.getOperand()), shapeOf(pad.getResult())))) {
    if (std::get<0>(sizes) == std::get<1>(sizes))
      continue;
    if (padded)
      return std::nullopt;
    padded = axis;
  }
  return padded;
}

/// Replaces a sum of padded boxes that tile a tensor along one axis with a concatenation. (A negative zero keeps its
/// sign, which x + 0 would lose.)
static LogicalResult concatenateSummedPads(AddOp op, PatternRewriter &rewriter) {
  SmallVector<PadOp> pads;
  if (!collectPads(op, pads))
    return failure();
  std::optional<int64_t> axis = getPaddedAxis(pads.front());
  if (!axis || llvm::any_of(pads, [&](PadOp pad) { return getPaddedAxis(pad) != axis; }))
    return failure();
  llvm::sort(pads, [&](PadOp lhs, PadOp rhs) { return lhs.getOffsets()[*axis] < rhs.getOffsets()[*axis]; });
  int64_t end = 0;
  SmallVector<Value> parts;
  for (PadOp pad : pads) {
    if (pad.getOffsets()[*axis] != end)
      return failure();
    end += shapeOf(pad.getOperand())[*axis];
    parts.push_back(pad.getOperand());
  }
  if (end != shapeOf(op.getResult())[*axis])
    return failure();
  rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), *axis, parts);
  return success();
}

void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(concatenateSummedPads);
}

//===----------------------------------------------------------------------===//
// Not
//===----------------------------------------------------------------------===//

/// Returns the opposite of `predicate`. The order of numbers that may be NaN has no opposite.
static std::optional<Predicate> getOpposite(Predicate predicate, bool mayBeNaN) {
  if (mayBeNaN && predicate != Predicate::EQ && predicate != Predicate::NE)
    return std::nullopt;
  switch (predicate) {
  case Predicate::EQ:
    return Predicate::NE;
  case Predicate::NE:
    return Predicate::EQ;
  case Predicate::LT:
    return Predicate::GE;
  case Predicate::LE:
    return Predicate::GT;
  case Predicate::GT:
    return Predicate::LE;
  case Predicate::GE:
    return Predicate::LT;
  }
  llvm_unreachable("every predicate has a case");
}

static LogicalResult negateComparison(NotOp op, PatternRewriter &rewriter) {
  auto compare = op.getOperand().getDefiningOp<CompareOp>();
  if (!compare)
    return failure();
  bool mayBeNaN = isa<FloatType>(compare.getLhs().getType().getElementType());
  std::optional<Predicate> opposite = getOpposite(compare.getPredicate(), mayBeNaN);
  if (!opposite)
    return failure();
  rewriter.replaceOpWithNewOp<CompareOp>(op, *opposite, compare.getLhs(), compare.getRhs());
  return success();
}

void NotOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) { patterns.add(negateComparison); }

//===----------------------------------------------------------------------===//
// Matmul
//===----------------------------------------------------------------------===//

/// Returns whether `transpose` exchanges the last two axes and no others.
static bool swapsMatrices(TransposeOp transpose) {
  auto expected = llvm::to_vector(llvm::seq<int64_t>(0, transpose.getPerm().size()));
  if (expected.size() < 2)
    return false;
  std::swap(expected[expected.size() - 1], expected[expected.size() - 2]);
  return transpose.getPerm() == ArrayRef<int64_t>(expected);
}

/// Makes a matmul read a transposed matrix as it is stored.
static LogicalResult absorbTranspose(MatmulOp op, PatternRewriter &rewriter) {
  auto lhs = op.getLhs().getDefiningOp<TransposeOp>();
  auto rhs = op.getRhs().getDefiningOp<TransposeOp>();
  bool absorbsLhs = lhs && swapsMatrices(lhs), absorbsRhs = rhs && swapsMatrices(rhs);
  if (!absorbsLhs && !absorbsRhs)
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    if (absorbsLhs) {
      op.getLhsMutable().assign(lhs.getOperand());
      op.setTransposeA(!op.getTransposeA());
    }
    if (absorbsRhs) {
      op.getRhsMutable().assign(rhs.getOperand());
      op.setTransposeB(!op.getTransposeB());
    }
  });
  return success();
}

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(absorbTranspose);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// Replaces a transposition that moves only axes of size 1 with a reshape.
static LogicalResult reshapeInsteadOfTranspose(TransposeOp op, PatternRewriter &rewriter) {
  int64_t previous = -1;
  for (int64_t axis : op.getPerm()) {
    if (shapeOf(op.getOperand())[axis] == 1)
      continue;
    if (axis < previous)
      return failure();
    previous = axis;
  }
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
  return success();
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(reshapeInsteadOfTranspose);
}

static LogicalResult composeSlices(SliceOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<SliceOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> offsets;
  for (auto [outerOffset, innerOffset] : llvm::zip_equal(op.getOffsets(), inner.getOffsets()))
    offsets.push_back(outerOffset + innerOffset);
  rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getOperand(), offsets);
  return success();
}

/// Replaces a slice inside one operand of a concatenation with a slice of that operand.
static LogicalResult sliceOnePart(SliceOp op, PatternRewriter &rewriter) {
  auto concat = op.getOperand().getDefiningOp<ConcatOp>();
  if (!concat)
    return failure();
  int64_t axis = concat.getAxis();
  SmallVector<int64_t> offsets(op.getOffsets());
  for (Value part : concat.getOperands()) {
    int64_t size = shapeOf(part)[axis];
    if (offsets[axis] < size) {
      if (offsets[axis] + shapeOf(op.getResult())[axis] > size)
        return failure();
      rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), part, offsets);
      return success();
    }
    offsets[axis] -= size;
  }
  return failure();
}

/// Replaces the slice of a pad that returns the padded box with that box.
static LogicalResult slicePadded(SliceOp op, PatternRewriter &rewriter) {
  auto pad = op.getOperand().getDefiningOp<PadOp>();
  if (!pad || pad.getOperand().getType() != op.getType() || pad.getOffsets() != op.getOffsets())
    return failure();
  rewriter.replaceOp(op, pad.getOperand());
  return success();
}

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(composeSlices);
  patterns.add(sliceOnePart);
  patterns.add(slicePadded);
}

static LogicalResult composeBroadcasts(BroadcastOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> dims;
  for (int64_t axis : inner.getDims())
    dims.push_back(op.getDims()[axis]);
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getOperand(), dims);
  return success();
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(composeBroadcasts);
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

/// Replaces a sum or maximum of one element with that element.
static LogicalResult reshapeInsteadOfReduce(ReduceOp op, PatternRewriter &rewriter) {
  bool hasOneElement = llvm::all_of(op.getAxes(), [&](int64_t axis) { return shapeOf(op.getOperand())[axis] == 1; });
  // A reduction without a gradient cannot be expressed by a reshape.
  if (!hasOneElement || op.getStopGradient())
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
  return success();
}

void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(reshapeInsteadOfReduce);
}
