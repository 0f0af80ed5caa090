//===- Verifiers.cpp - Verifiers of the operations ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

using namespace mlir;
using namespace cs336;

static LogicalResult verifySameElementType(Operation *op, Value lhs, Value rhs) {
  if (tensorType(lhs).getElementType() != tensorType(rhs).getElementType())
    return op->emitOpError() << "element types differ: " << lhs.getType() << " and " << rhs.getType()
                             << "; insert a cs336.cast";
  return success();
}

static LogicalResult verifyShape(Operation *op, Value value, StringRef name, ArrayRef<int64_t> expected) {
  if (shapeOf(value) == expected)
    return success();
  auto diagnostic = op->emitOpError() << name << " must have shape [";
  llvm::interleaveComma(expected, diagnostic);
  return diagnostic << "], is " << value.getType();
}

static LogicalResult verifyAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return op->emitOpError() << "axis " << axis << " is outside a tensor of rank " << rank;
  return success();
}

//===----------------------------------------------------------------------===//
// Sources and layout
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() { return verifyAxis(*this, getAxis(), tensorType(getResult()).getRank()); }

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  if (getDims().size() != from.size())
    return emitOpError() << "dims has " << getDims().size() << " entries for an operand of rank " << from.size();
  int64_t previous = -1;
  for (auto [axis, resultAxis] : llvm::enumerate(getDims())) {
    if (resultAxis <= previous || resultAxis >= static_cast<int64_t>(to.size()))
      return emitOpError() << "dims must be strictly increasing and less than the result's rank " << to.size();
    if (from[axis] != to[resultAxis])
      return emitOpError() << "axis " << axis << " of size " << from[axis] << " becomes axis " << resultAxis
                           << " of size " << to[resultAxis] << "; only new axes can be repeated";
    previous = resultAxis;
  }
  return verifySameElementType(*this, getOperand(), getResult());
}

LogicalResult ReshapeOp::verify() {
  if (tensorType(getOperand()).getNumElements() != tensorType(getResult()).getNumElements())
    return emitOpError() << "numbers of elements differ: " << getOperand().getType() << " and "
                         << getResult().getType();
  return verifySameElementType(*this, getOperand(), getResult());
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand()), perm = getPerm();
  if (perm.size() != from.size())
    return emitOpError() << "perm has " << perm.size() << " entries for a tensor of rank " << from.size();
  SmallVector<bool> isSeen(from.size(), false);
  SmallVector<int64_t> expected;
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(from.size()) || isSeen[axis])
      return emitOpError() << "perm must be a permutation of the operand's axes";
    isSeen[axis] = true;
    expected.push_back(from[axis]);
  }
  if (failed(verifyShape(*this, getResult(), "result", expected)))
    return failure();
  return verifySameElementType(*this, getOperand(), getResult());
}

/// Verifies that the box of shape `box` at `offsets` is inside a tensor of shape `whole`.
static LogicalResult verifyBox(Operation *op, ArrayRef<int64_t> offsets, ArrayRef<int64_t> box,
                               ArrayRef<int64_t> whole) {
  if (box.size() != whole.size() || offsets.size() != whole.size())
    return op->emitOpError() << "operand, result and offsets must have the same rank";
  for (size_t axis = 0; axis < whole.size(); ++axis)
    if (offsets[axis] < 0 || box[axis] > whole[axis] || offsets[axis] > whole[axis] - box[axis])
      return op->emitOpError() << "the box exceeds the tensor along axis " << axis << ": offset " << offsets[axis]
                               << " plus size " << box[axis] << " exceeds " << whole[axis];
  return success();
}

LogicalResult SliceOp::verify() {
  if (failed(verifyBox(*this, getOffsets(), shapeOf(getResult()), shapeOf(getOperand()))))
    return failure();
  return verifySameElementType(*this, getOperand(), getResult());
}

LogicalResult PadOp::verify() {
  if (failed(verifyBox(*this, getOffsets(), shapeOf(getOperand()), shapeOf(getResult()))))
    return failure();
  return verifySameElementType(*this, getOperand(), getResult());
}

LogicalResult ConcatOp::verify() {
  if (getOperands().empty())
    return emitOpError() << "requires at least one operand";
  SmallVector<int64_t> expected(shapeOf(getOperands().front()));
  if (failed(verifyAxis(*this, getAxis(), expected.size())))
    return failure();
  expected[getAxis()] = 0;
  for (Value operand : getOperands()) {
    ArrayRef<int64_t> shape = shapeOf(operand);
    if (failed(verifySameElementType(*this, operand, getResult())))
      return failure();
    if (shape.size() != expected.size())
      return emitOpError() << "operands must have the same rank";
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (axis != getAxis() && shape[axis] != expected[axis])
        return emitOpError() << "operands differ along axis " << axis << ", which is not the concatenated axis";
    expected[getAxis()] = addSaturating(expected[getAxis()], shape[getAxis()]);
  }
  return verifyShape(*this, getResult(), "result", expected);
}

//===----------------------------------------------------------------------===//
// Reductions, matmuls, gathers
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand());
  SmallVector<bool> isReduced(from.size(), false);
  for (int64_t axis : getAxes()) {
    if (failed(verifyAxis(*this, axis, from.size())))
      return failure();
    if (isReduced[axis])
      return emitOpError() << "axis " << axis << " occurs twice";
    isReduced[axis] = true;
  }
  SmallVector<int64_t> expected;
  for (auto [axis, size] : llvm::enumerate(from))
    if (!isReduced[axis])
      expected.push_back(size);
  if (failed(verifyShape(*this, getResult(), "result", expected)))
    return failure();
  return verifySameElementType(*this, getOperand(), getResult());
}

MatmulOp::Sizes MatmulOp::getSizes() {
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  Sizes sizes;
  sizes.batch = 1;
  for (int64_t size : lhs.drop_back(2))
    sizes.batch *= size;
  ArrayRef<int64_t> a = lhs.take_back(2), b = rhs.take_back(2);
  sizes.m = a[getTransposeA() ? 1 : 0];
  sizes.k = a[getTransposeA() ? 0 : 1];
  sizes.n = b[getTransposeB() ? 0 : 1];
  return sizes;
}

LogicalResult MatmulOp::verify() {
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  if (lhs.size() < 2 || rhs.size() < 2)
    return emitOpError() << "operands must be matrices, have rank " << lhs.size() << " and " << rhs.size();
  if (rhs.size() != 2 && lhs.drop_back(2) != rhs.drop_back(2))
    return emitOpError() << "batch axes differ: " << getLhs().getType() << " and " << getRhs().getType();
  Sizes sizes = getSizes();
  int64_t rhsK = rhs.take_back(2)[getTransposeB() ? 1 : 0];
  if (sizes.k != rhsK)
    return emitOpError() << "inner sizes differ: " << sizes.k << " of the left matrix and " << rhsK
                         << " of the right matrix";
  SmallVector<int64_t> expected(lhs.drop_back(2));
  expected.append({sizes.m, sizes.n});
  if (failed(verifyShape(*this, getResult(), "result", expected)) ||
      failed(verifySameElementType(*this, getLhs(), getRhs())))
    return failure();
  if (getAddend() && getAddend().getType() != getResult().getType())
    return emitOpError() << "the addend must have the result's type, is " << getAddend().getType();
  if (getBias() && (failed(verifyShape(*this, getBias(), "bias", {sizes.n})) ||
                    failed(verifySameElementType(*this, getBias(), getResult()))))
    return failure();
  return verifySameElementType(*this, getLhs(), getResult());
}

LogicalResult EmbeddingOp::verify() {
  ArrayRef<int64_t> table = shapeOf(getTable());
  if (table.size() != 2)
    return emitOpError() << "table must be a matrix, is " << getTable().getType();
  SmallVector<int64_t> expected(shapeOf(getIds()));
  expected.push_back(table[1]);
  if (failed(verifyShape(*this, getResult(), "result", expected)))
    return failure();
  return verifySameElementType(*this, getTable(), getResult());
}

LogicalResult EmbeddingGradOp::verify() {
  ArrayRef<int64_t> table = shapeOf(getResult());
  if (table.size() != 2)
    return emitOpError() << "result must be a matrix, is " << getResult().getType();
  SmallVector<int64_t> expected(shapeOf(getIds()));
  expected.push_back(table[1]);
  if (failed(verifyShape(*this, getGradient(), "gradient", expected)))
    return failure();
  return verifySameElementType(*this, getGradient(), getResult());
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), weight = shapeOf(getWeight());
  if (weight.size() != 2 || input.empty())
    return emitOpError() << "requires an input […, in] and a weight [out, in], has " << getInput().getType() << " and "
                         << getWeight().getType();
  if (input.back() != weight[1])
    return emitOpError() << "input has " << input.back() << " features, but weight has " << weight[1];
  SmallVector<int64_t> expected(input.drop_back());
  expected.push_back(weight[0]);
  if (failed(verifyShape(*this, getResult(), "result", expected)) ||
      failed(verifySameElementType(*this, getInput(), getWeight())))
    return failure();
  return verifySameElementType(*this, getInput(), getResult());
}

static LogicalResult verifyNorm(Operation *op, Value input, Value weight, double eps) {
  ArrayRef<int64_t> shape = shapeOf(input);
  if (shape.empty())
    return op->emitOpError() << "requires an input of rank 1 or more";
  if (!(eps > 0))
    return op->emitOpError() << "eps must be positive, is " << eps;
  return verifyShape(op, weight, "weight", shape.take_back(1));
}

LogicalResult RMSNormOp::verify() { return verifyNorm(*this, getInput(), getWeight(), getEps().convertToDouble()); }
LogicalResult LayerNormOp::verify() { return verifyNorm(*this, getInput(), getWeight(), getEps().convertToDouble()); }

LogicalResult RoPEOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (shape.size() < 2)
    return emitOpError() << "requires an input […, positions, head_dim], has " << getInput().getType();
  if (shape.back() % 2 != 0)
    return emitOpError() << "rotates pairs: head_dim must be even, is " << shape.back();
  if (!(getTheta().convertToDouble() > 0))
    return emitOpError() << "theta must be positive";
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  if (logits.empty())
    return emitOpError() << "logits must have a last axis of classes";
  if (failed(verifyShape(*this, getTargets(), "targets", logits.drop_back())))
    return failure();
  return verifyShape(*this, getResult(), "result", {});
}

//===----------------------------------------------------------------------===//
// Groups, optimizer, collectives
//===----------------------------------------------------------------------===//

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "the body's arguments must have the operands' types";
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "must yield values of the results' types";
  for (Operation &op : block.without_terminator())
    if (!isa<FusibleOpInterface>(op))
      return emitOpError() << "contains '" << op.getName() << "', which is not fusible";
  return success();
}

LogicalResult AdamWOp::verify() {
  for (Value value : {getGradient(), getM()})
    if (failed(verifyShape(*this, value, "gradient and moments", shapeOf(getParameter()))))
      return failure();
  for (Value scalar : {getLr(), getCorrection1(), getCorrection2(), getScale()})
    if (failed(verifyShape(*this, scalar, "scalar operand", {})) ||
        failed(verifySameElementType(*this, getLr(), scalar)))
      return failure();
  return verifyShape(*this, getApply(), "apply", {});
}
