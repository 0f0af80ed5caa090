//===- ScoreFunction.cpp - What attention computes of a score -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/ScoreFunction.h"

#include "ScoreGradients.h"
#include "cs336/Dialect/CS336/IR/IntegerRanges.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace cs336;

Block &cs336::createScoreFunction(Region &region, FloatType type, ValueRange tables, Location loc) {
  Block &function = region.emplaceBlock();
  function.addArgument(RankedTensorType::get({}, type), loc);
  auto index = RankedTensorType::get({}, IntegerType::get(type.getContext(), 32));
  function.addArguments(SmallVector<Type>(score::kFirstTable - score::kBatch, index),
                        SmallVector<Location>(score::kFirstTable - score::kBatch, loc));
  for (Value table : tables)
    function.addArgument(table.getType(), loc);
  return function;
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifyArguments(Operation *op, Block &function, Type score, ValueRange tables) {
  SmallVector<Type> expected = {score};
  expected.append(score::kFirstTable - score::kBatch,
                  RankedTensorType::get({}, IntegerType::get(op->getContext(), 32)));
  llvm::append_range(expected, tables.getTypes());
  if (!llvm::equal(function.getArgumentTypes(), expected)) {
    InFlightDiagnostic diagnostic = op->emitOpError()
                                    << "the arguments of the score function must be the scaled score, "
                                       "batch, head, query, key and the tables: (";
    llvm::interleaveComma(expected, diagnostic);
    diagnostic << "), are (";
    llvm::interleaveComma(function.getArgumentTypes(), diagnostic);
    return diagnostic << ")";
  }
  return success();
}

IntegerValueRange cs336::getScoreArgumentRange(BlockArgument argument, ArrayRef<int64_t> bounds) {
  unsigned number = argument.getArgNumber();
  bool isIndex = number >= score::kBatch && number < score::kFirstTable;
  return isIndex ? IntegerValueRange(getRangeBelow(argument.getType(), bounds[number - score::kBatch]))
                 : IntegerValueRange();
}

static LogicalResult verifyOperations(Operation *op, Block &function) {
  for (Operation &inner : function.without_terminator()) {
    if (!isa<ScalarOpInterface, ConstantOp, ElementOp>(inner))
      return inner.emitOpError() << "cannot be part of a score function, which consists of element-wise operations, "
                                    "'cs336.constant' and 'cs336.element'";
    for (Value result : inner.getResults())
      if (rankOf(result) != 0)
        return inner.emitOpError() << "computes " << result.getType()
                                   << "; a score function computes tensors of rank 0";
  }
  return success();
}

template <typename Op>
static LogicalResult verify(Op op, unsigned numResults) {
  if (!op.hasScoreFunction()) {
    if (!op.getTables().empty())
      return op.emitOpError() << "has tables, but no score function that reads them";
    return success();
  }
  Block &function = op.getScoreFunction();
  Type score = RankedTensorType::get({}, tensorType(op.getLogSumExp()).getElementType());
  if (failed(verifyArguments(op, function, score, op.getTables())) || failed(verifyOperations(op, function)))
    return failure();
  auto yield = dyn_cast<YieldOp>(function.back());
  if (!yield || yield->getNumOperands() != numResults ||
      llvm::any_of(yield->getOperandTypes(), [&](Type type) { return type != score; }))
    return op.emitOpError() << "the score function must yield "
                            << (numResults == 1 ? "the score" : "the score and its derivative") << " of type " << score;

  auto sizes = op.getSizes();
  int64_t bounds[] = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  auto getArgumentRange = [&](BlockArgument argument) { return getScoreArgumentRange(argument, bounds); };
  IntegerRanges ranges(getArgumentRange);
  for (auto element : function.getOps<ElementOp>()) {
    auto table = dyn_cast<BlockArgument>(element.getTable());
    if (!table || table.getOwner() != &function || table.getArgNumber() < score::kFirstTable)
      return element.emitOpError() << "must read a table of the score function";
    for (auto [axis, index] : llvm::enumerate(element.getIndices()))
      if (!isWithin(ranges.get(index), tensorType(table).getDimSize(axis)))
        return element.emitOpError() << "index " << axis << " is not provably in [0, "
                                     << tensorType(table).getDimSize(axis) << ")";
  }
  return success();
}

LogicalResult cs336::verifyScoreFunction(AttentionOp op, unsigned numResults) { return verify(op, numResults); }
LogicalResult cs336::verifyScoreFunction(AttentionBackwardOp op, unsigned numResults) { return verify(op, numResults); }

LogicalResult ElementOp::verify() {
  if (rankOf(getTable()) != static_cast<int64_t>(getIndices().size()))
    return emitOpError() << "requires one index per axis of the table: " << rankOf(getTable()) << ", has "
                         << getIndices().size();
  return success();
}

//===----------------------------------------------------------------------===//
// Scalars, cost
//===----------------------------------------------------------------------===//

SmallVector<Value> cs336::buildScoreScalars(OpBuilder &builder, Location loc, Block &function, ValueRange arguments,
                                            ReadElement readElement, const DenseMap<Operation *, bool> &known) {
  DenseMap<Value, Value> scalars;
  for (auto [argument, scalar] : llvm::zip(function.getArguments(), arguments))
    scalars[argument] = scalar;
  auto lookUp = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return scalars.lookup(value); });
  };
  for (Operation &op : function.without_terminator()) {
    Value scalar;
    if (auto choice = known.find(&op); choice != known.end()) {
      scalar = isa<CompareOp>(op) ? arith::ConstantOp::create(builder, loc, builder.getBoolAttr(choice->second))
                                  : scalars.lookup(op.getOperand(choice->second ? 0 : 1));
    } else if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto elements = cast<SplatElementsAttr>(constant.getValue());
      scalar = arith::ConstantOp::create(builder, loc, elements.getSplatValue<TypedAttr>());
    } else if (auto element = dyn_cast<ElementOp>(op)) {
      unsigned table = cast<BlockArgument>(element.getTable()).getArgNumber() - score::kFirstTable;
      scalar = readElement(builder, loc, table, lookUp(element.getIndices()));
    } else {
      scalar = cast<ScalarOpInterface>(op).buildScalar(builder, loc, lookUp(op.getOperands()));
    }
    scalars[op.getResult(0)] = scalar;
  }
  return lookUp(function.getTerminator()->getOperands());
}

int64_t cs336::countScoreFlops(Block &function) {
  int64_t flops = 0;
  for (auto op : function.getOps<CostOpInterface>())
    flops = addSaturating(flops, op.getFlops());
  return flops;
}

int64_t ElementOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult cs336::buildGradients(OpBuilder &builder, ArrayRef<Operation *> ops, ValueRange sources,
                                    DenseMap<Value, Value> &gradients) {
  DenseSet<Value> depends(sources.begin(), sources.end());
  auto isActive = [&](Value value) { return depends.contains(value); };
  for (Operation *op : ops)
    if (llvm::any_of(op->getOperands(), isActive) && isa<FloatType>(tensorType(op->getResult(0)).getElementType()))
      depends.insert(op->getResult(0));
  for (Operation *op : llvm::reverse(ops)) {
    Value gradient = gradients.lookup(op->getResult(0));
    if (!gradient || !isActive(op->getResult(0)) || llvm::is_contained(sources, op->getResult(0)))
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError() << "is part of a score function, but has no adjoint";
    SmallVector<Value> operandGradients;
    if (failed(differentiable.buildAdjoint(builder, gradient, operandGradients)))
      return failure();
    for (auto [operand, operandGradient] : llvm::zip_equal(op->getOperands(), operandGradients)) {
      if (!operandGradient || !isActive(operand))
        continue;
      auto [entry, isFirst] = gradients.try_emplace(operand, operandGradient);
      if (!isFirst)
        entry->second = AddOp::create(builder, op->getLoc(), entry->second, operandGradient);
    }
  }
  return success();
}

LogicalResult cs336::appendScoreDerivative(Block &function) {
  auto yield = cast<YieldOp>(function.getTerminator());
  // Uses its own builder: the builder of a pass may keep lists of the operations of one block.
  OpBuilder builder(yield);
  Value source = function.getArgument(score::kScore), score = yield->getOperand(0);
  auto type = tensorType(score);
  DenseMap<Value, Value> gradients;
  gradients[score] = ConstantOp::create(builder, yield->getLoc(), type, 1.0);
  auto ops = llvm::map_to_vector(function.without_terminator(), [](Operation &op) { return &op; });
  if (failed(buildGradients(builder, ops, source, gradients)))
    return failure();
  Value derivative = gradients.lookup(source);
  if (!derivative)
    derivative = ConstantOp::create(builder, yield->getLoc(), type, 0.0);
  yield->setOperands({score, derivative});
  return success();
}
