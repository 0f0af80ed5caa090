//===- ScoreLanes.cpp - A score function on vectors -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that are the same for all lanes stay scalar. Elements of tables at indices that differ between lanes are read
// one by one.
//
//===----------------------------------------------------------------------===//

#include "ScoreLanes.h"

#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cpu;

namespace {
class LaneCode {
public:
  LaneCode(const KernelPlan &plan, KernelMemory &memory, ArrayRef<unsigned> tables, int64_t lanes, OpBuilder &builder,
           Location loc)
      : plan(plan), memory(memory), tables(tables), lanes(lanes), builder(builder), loc(loc) {}

  SmallVector<Value> build(func::FuncOp scalars, ArrayRef<Value> arguments);

private:
  Value spread(Value value);
  Value buildOperation(Operation &op);
  Value buildExtract(tensor::ExtractOp op);

  const KernelPlan &plan;
  KernelMemory &memory;
  ArrayRef<unsigned> tables;
  int64_t lanes;
  OpBuilder &builder;
  Location loc;
  IRMapping values;
};
} // namespace

static bool isVector(Value value) { return isa<VectorType>(value.getType()); }

/// Returns the value as a vector.
Value LaneCode::spread(Value value) {
  return isVector(value) ? value
                         : vector::BroadcastOp::create(builder, loc, VectorType::get(lanes, value.getType()), value);
}

Value LaneCode::buildExtract(tensor::ExtractOp op) {
  unsigned storage = tables[cast<BlockArgument>(op.getTensor()).getArgNumber() - score::kFirstTable];
  ArrayRef<int64_t> strides = plan.storages[storage].strides;
  auto loadLane = [&](std::optional<int64_t> lane) {
    Value position = memory.constant(loc, 0);
    for (auto [index, stride] : llvm::zip_equal(op.getIndices(), strides)) {
      Value number = values.lookup(index);
      if (isVector(number))
        number = vector::ExtractOp::create(builder, loc, number, *lane);
      position = memory.add(loc, position, memory.mul(loc, number, stride));
    }
    return memory.load(loc, storage, position);
  };
  if (llvm::none_of(op.getIndices(), [&](Value index) { return isVector(values.lookup(index)); }))
    return loadLane(std::nullopt);
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < lanes; ++lane)
    elements.push_back(loadLane(lane));
  return vector::FromElementsOp::create(builder, loc, VectorType::get(lanes, op.getType()), elements);
}

Value LaneCode::buildOperation(Operation &op) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return buildExtract(extract);
  if (llvm::none_of(op.getOperands(), [&](Value operand) { return isVector(values.lookup(operand)); }))
    return builder.clone(op, values)->getResult(0);
  IRMapping vectors;
  for (Value operand : op.getOperands())
    vectors.map(operand, spread(values.lookup(operand)));
  Operation *copy = builder.clone(op, vectors);
  copy->getResult(0).setType(VectorType::get(lanes, op.getResult(0).getType()));
  return copy->getResult(0);
}

SmallVector<Value> LaneCode::build(func::FuncOp scalars, ArrayRef<Value> arguments) {
  Block &body = scalars.getBody().front();
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    values.map(argument, value);
  for (Operation &op : body.without_terminator())
    values.map(op.getResult(0), buildOperation(op));
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return spread(values.lookup(value)); });
}

SmallVector<Value> cs336::cpu::buildScoreLanes(func::FuncOp scalars, const KernelPlan &plan, KernelMemory &memory,
                                               ArrayRef<unsigned> tables, int64_t lanes, ArrayRef<Value> arguments,
                                               OpBuilder &builder, Location loc) {
  return LaneCode(plan, memory, tables, lanes, builder, loc).build(scalars, arguments);
}
