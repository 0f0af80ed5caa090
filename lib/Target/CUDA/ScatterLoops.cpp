//===- ScatterLoops.cpp - Loops that add rows to a table ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterLoops.h"
#include "IterationSpace.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace cs336::cuda;

/// Returns the number of iterations of a loop from 0 in steps of 1 that carries one value.
static std::optional<int64_t> getTripCount(scf::ForOp loop) {
  APInt begin, end, step;
  bool isKnown = matchPattern(loop.getLowerBound(), m_ConstantInt(&begin)) &&
                 matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) &&
                 matchPattern(loop.getStep(), m_ConstantInt(&step));
  if (!isKnown || !begin.isZero() || !step.isOne() || loop.getNumRegionIterArgs() != 1)
    return std::nullopt;
  return end.getSExtValue();
}

static Value skipWidening(Value value) {
  auto widening = value.getDefiningOp<arith::ExtFOp>();
  return widening ? widening.getIn() : value;
}

/// Returns the operand of the kernel from which an element is read at `indices`.
static std::optional<unsigned> matchExtract(Value element, ValueRange indices) {
  auto extract = element.getDefiningOp<tensor::ExtractOp>();
  auto operand = extract ? dyn_cast<BlockArgument>(extract.getTensor()) : BlockArgument();
  if (!operand || !isa<func::FuncOp>(operand.getOwner()->getParentOp()) || !llvm::equal(extract.getIndices(), indices))
    return std::nullopt;
  return operand.getArgNumber();
}

std::optional<ScatterLoops> ScatterLoops::match(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  auto outermost = end->getNumOperands() == 1 ? end->getOperand(0).getDefiningOp<scf::ForOp>() : scf::ForOp();
  if (!outermost)
    return std::nullopt;
  ScatterLoops scatter;
  auto fill = outermost.getInitArgs().front().getDefiningOp<linalg::GenericOp>();
  Attribute initial;
  if (!fill || fill.getNumDpsInputs() != 0 ||
      !matchPattern(fill.getBody()->getTerminator()->getOperand(0), m_Constant(&initial)))
    return std::nullopt;
  scatter.initial = cast<TypedAttr>(initial);

  SmallVector<Value> position;
  scf::ForOp loop = outermost;
  while (true) {
    std::optional<int64_t> count = getTripCount(loop);
    if (!count)
      return std::nullopt;
    auto inner = loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<scf::ForOp>();
    if (!inner) {
      scatter.columns = *count;
      break;
    }
    if (inner.getInitArgs().front() != loop.getRegionIterArg(0))
      return std::nullopt;
    scatter.positions.push_back(*count);
    position.push_back(loop.getInductionVar());
    loop = inner;
  }

  Value column = loop.getInductionVar();
  auto insert = loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<tensor::InsertOp>();
  if (!insert || insert.getDest() != loop.getRegionIterArg(0) || insert.getIndices().size() != 2 ||
      insert.getIndices()[1] != column)
    return std::nullopt;
  auto row = insert.getIndices()[0].getDefiningOp<arith::IndexCastOp>();
  if (!row)
    return std::nullopt;
  std::optional<unsigned> ids = matchExtract(row.getIn(), position);
  if (!ids && scatter.positions == ArrayRef<int64_t>(1)) {
    // One position has no index.
    position.clear();
    ids = matchExtract(row.getIn(), position);
  }

  Value sum = insert.getScalar();
  if (auto rounding = sum.getDefiningOp<arith::TruncFOp>()) {
    scatter.rounding = rounding;
    sum = rounding.getIn();
  }
  scatter.add = sum.getDefiningOp<arith::AddFOp>();
  if (!ids || !scatter.add)
    return std::nullopt;
  auto old = skipWidening(scatter.add.getLhs()).getDefiningOp<tensor::ExtractOp>();
  position.push_back(column);
  std::optional<unsigned> gradient = matchExtract(skipWidening(scatter.add.getRhs()), position);
  if (!old || old.getTensor() != insert.getDest() || !llvm::equal(old.getIndices(), insert.getIndices()) || !gradient)
    return std::nullopt;
  scatter.ids = *ids;
  scatter.gradient = *gradient;
  return scatter;
}

KernelProgram ScatterLoops::getProgram(const DeviceKernel &kernel) const {
  MLIRContext *context = initial.getContext();
  KernelProgram program;
  program.extents = positions;
  program.extents.push_back(columns);
  unsigned column = program.extents.size() - 1;
  program.nests = {{0, column}, {column, column + 1}};
  // `end` is one past the dimension of the operand's last axis: a single position has a dimension, but no axis.
  auto addLoad = [&](unsigned operand, unsigned end) {
    MemRefType type = kernel.operands[operand];
    auto [strides, offset] = type.getStridesAndOffset();
    AffineExpr index = getAffineConstantExpr(offset, context);
    for (auto [dim, stride] : llvm::enumerate(strides))
      index = index + getAffineDimExpr(end - strides.size() + dim, context) * stride;
    program.scalars.push_back({.kind = Scalar::Kind::Load,
                               .type = type.getElementType(),
                               .operand = operand,
                               .index = simplifyAffineExpr(index, program.extents.size(), 0)});
  };
  addLoad(ids, column);
  addLoad(gradient, column + 1);
  program.stores.push_back({kernel.numInputs, getAffineDimExpr(column, context), 1});
  mergeDimensions(program);
  return program;
}
