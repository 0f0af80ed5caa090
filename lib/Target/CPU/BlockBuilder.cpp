//===- BlockBuilder.cpp - GEMMs and functions of blocks -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace cs336::cpu;

/// Numbers of a row that `dot` reads at once, and the side of the squares that are transposed in registers.
static constexpr int64_t kDotLanes = 8, kSquare = 8;

BlockBuilder::BlockBuilder(KernelMemory &memory, OpBuilder &builder, Location loc, FloatType compute, int64_t lanes,
                           int64_t vectorBits)
    : memory(memory), builder(builder), loc(loc), compute(compute), lanes(lanes),
      vectorType(VectorType::get(lanes, compute)), tileRows(vectorBits >= 512 ? 8 : 4) {}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void BlockBuilder::loop(Value lower, Value upper, int64_t step, Body body) {
  loop(lower, upper, step, {}, [&](Value variable, ValueRange) {
    body(variable);
    return SmallVector<Value>();
  });
}

SmallVector<Value> BlockBuilder::loop(Value lower, Value upper, int64_t step, ValueRange inits, CarryingBody body) {
  auto built = scf::ForOp::create(builder, loc, lower, upper, index(step), inits,
                                  [&](OpBuilder &, Location, Value variable, ValueRange carried) {
                                    scf::YieldOp::create(builder, loc, body(variable, carried));
                                  });
  return SmallVector<Value>(built.getResults());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value BlockBuilder::convert(Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType()), to = element;
  if (from == to)
    return value;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    to = vector.clone(element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, to, value);
  return arith::TruncFOp::create(builder, loc, to, value);
}

Value BlockBuilder::getIndex(const Matrix &matrix, Value row, Value column) {
  Value inRow = addIndex(mulIndex(row, matrix.rowStride), mulIndex(column, matrix.columnStride));
  return addIndex(matrix.origin, inRow);
}

Value BlockBuilder::loadNumber(unsigned storage, Value index) {
  return convert(memory.load(loc, storage, index), compute);
}

void BlockBuilder::storeNumber(Value number, unsigned storage, Value index) {
  memory.store(loc, convert(number, memory.getElementType(storage)), storage, index);
}

Value BlockBuilder::load(unsigned panel, Value row) {
  return memory.loadVector(loc, panel, mulIndex(row, lanes), 1, lanes);
}

void BlockBuilder::store(Value vector, unsigned panel, Value row) {
  memory.storeVector(loc, vector, panel, mulIndex(row, lanes));
}

void BlockBuilder::fill(unsigned panel, int64_t rows, double value) {
  Value vector = splat(value);
  loop(index(0), index(rows), 1, [&](Value row) { store(vector, panel, row); });
}

/// Transposes a square of vectors: swaps the two off-diagonal quarters, then does the same in each of the smaller
/// squares, and so on.
SmallVector<Value> BlockBuilder::transpose(SmallVector<Value> rows) {
  int64_t size = rows.size();
  for (int64_t half = 1; half < size; half *= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < size; ++lane) {
      bool isRight = (lane & half) != 0;
      upper.push_back(isRight ? size + lane - half : lane);
      lower.push_back(isRight ? size + lane : lane + half);
    }
    for (int64_t row = 0; row < size; ++row) {
      if ((row & half) != 0)
        continue;
      Value above = rows[row], below = rows[row + half];
      rows[row] = vector::ShuffleOp::create(builder, loc, above, below, upper);
      rows[row + half] = vector::ShuffleOp::create(builder, loc, above, below, lower);
    }
  }
  return rows;
}

/// Divides `count` lanes and the columns into squares. Calls `square` with the first lane and column of each, and
/// `single` for the pairs of lane and column in no square.
void BlockBuilder::forEachSquare(Value count, int64_t columns, int64_t size, PairBody square, PairBody single) {
  Value rest = arith::RemUIOp::create(builder, loc, count, index(size)), middle = subIndex(count, rest);
  int64_t inSquares = columns / size * size;
  auto visit = [&](Value from, Value to, int64_t firstColumn, int64_t endColumn, int64_t step, PairBody body) {
    if (firstColumn == endColumn)
      return;
    loop(from, to, step, [&](Value lane) {
      loop(index(firstColumn), index(endColumn), step, [&](Value column) { body(lane, column); });
    });
  };
  visit(index(0), middle, 0, inSquares, size, square);
  visit(index(0), middle, inSquares, columns, 1, single);
  visit(middle, count, 0, columns, 1, single);
}

void BlockBuilder::pack(const Matrix &matrix, Value first, Value count, int64_t columns, unsigned panel) {
  assert(matrix.columnStride == 1 && "rows of a head are contiguous");
  int64_t size = std::min(lanes, kSquare);
  auto place = [&](Value lane, Value column) { return addIndex(mulIndex(column, lanes), lane); };
  auto packSquare = [&](Value lane, Value column) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < size; ++i) {
      Value at = getIndex(matrix, addIndex(first, addIndex(lane, index(i))), column);
      rows.push_back(convert(memory.loadVector(loc, matrix.storage, at, 1, size), compute));
    }
    for (auto [i, row] : llvm::enumerate(transpose(rows)))
      memory.storeVector(loc, row, panel, place(lane, addIndex(column, index(i))));
  };
  forEachSquare(count, columns, size, packSquare, [&](Value lane, Value column) {
    Value number = loadNumber(matrix.storage, getIndex(matrix, addIndex(first, lane), column));
    memory.store(loc, number, panel, place(lane, column));
  });
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(compute));
  loop(count, index(lanes), 1, [&](Value lane) {
    loop(index(0), index(columns), 1, [&](Value column) { memory.store(loc, zero, panel, place(lane, column)); });
  });
}

void BlockBuilder::unpack(unsigned panel, const Matrix &matrix, Value first, Value count, int64_t columns) {
  assert(matrix.columnStride == 1 && "rows of a head are contiguous");
  int64_t size = std::min(lanes, kSquare);
  auto place = [&](Value lane, Value column) { return addIndex(mulIndex(column, lanes), lane); };
  auto unpackSquare = [&](Value lane, Value column) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < size; ++i)
      rows.push_back(memory.loadVector(loc, panel, place(lane, addIndex(column, index(i))), 1, size));
    for (auto [i, row] : llvm::enumerate(transpose(rows))) {
      Value at = getIndex(matrix, addIndex(first, addIndex(lane, index(i))), column);
      memory.storeVector(loc, convert(row, memory.getElementType(matrix.storage)), matrix.storage, at);
    }
  };
  forEachSquare(count, columns, size, unpackSquare, [&](Value lane, Value column) {
    Value number = memory.load(loc, panel, place(lane, column));
    storeNumber(number, matrix.storage, getIndex(matrix, addIndex(first, lane), column));
  });
}

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

/// Multiplies by tiles of rows, whose sums stay in registers, and then the remaining rows one by one.
void BlockBuilder::multiply(const Matrix &matrix, Value firstRow, Value firstColumn, Value rows, Value depth,
                            unsigned panel, unsigned result, bool accumulates) {
  Value rest = builder.createOrFold<arith::RemUIOp>(loc, rows, index(tileRows));
  Value middle = subIndex(rows, rest);
  loop(index(0), middle, tileRows, [&](Value row) {
    multiplyTile(matrix, firstRow, firstColumn, row, tileRows, depth, panel, result, accumulates);
  });
  loop(middle, rows, 1,
       [&](Value row) { multiplyTile(matrix, firstRow, firstColumn, row, 1, depth, panel, result, accumulates); });
}

void BlockBuilder::multiplyTile(const Matrix &matrix, Value firstRow, Value firstColumn, Value row, int64_t rows,
                                Value depth, unsigned panel, unsigned result, bool accumulates) {
  Value zero = splat(0.0);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < rows; ++i)
    sums.push_back(accumulates ? load(result, addIndex(row, index(i))) : zero);
  Value start = getIndex(matrix, addIndex(firstRow, row), firstColumn);
  sums = loop(index(0), depth, 1, sums, [&](Value term, ValueRange carried) {
    Value vector = load(panel, term), place = addIndex(start, mulIndex(term, matrix.columnStride));
    SmallVector<Value> next;
    for (int64_t i = 0; i < rows; ++i) {
      Value number = loadNumber(matrix.storage, addIndex(place, index(i * matrix.rowStride)));
      next.push_back(mulAdd(splat(number), vector, carried[i]));
    }
    return next;
  });
  for (int64_t i = 0; i < rows; ++i)
    store(sums[i], result, addIndex(row, index(i)));
}

Value BlockBuilder::dot(const Matrix &lhs, const Matrix &rhs, Value row, int64_t columns) {
  auto type = VectorType::get(kDotLanes, compute);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto read = [&](const Matrix &matrix, Value column) {
    Value place = getIndex(matrix, row, column);
    return convert(memory.loadVector(loc, matrix.storage, place, 1, kDotLanes), compute);
  };
  int64_t inVectors = columns / kDotLanes * kDotLanes;
  Value partial = loop(index(0), index(inVectors), kDotLanes, zero, [&](Value column, ValueRange carried) {
                    return SmallVector<Value>{mulAdd(read(lhs, column), read(rhs, column), carried.front())};
                  }).front();
  Value sum =
      vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD, partial, arith::FastMathFlags::reassoc);
  for (int64_t column = inVectors; column < columns; ++column) {
    auto readNumber = [&](const Matrix &matrix) {
      return loadNumber(matrix.storage, getIndex(matrix, row, index(column)));
    };
    sum = mulAdd(readNumber(lhs), readNumber(rhs), sum);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value BlockBuilder::splat(double value) {
  auto attribute = DenseElementsAttr::get(vectorType, builder.getFloatAttr(compute, value));
  return arith::ConstantOp::create(builder, loc, attribute);
}
Value BlockBuilder::splat(Value number) { return vector::BroadcastOp::create(builder, loc, vectorType, number); }
Value BlockBuilder::add(Value lhs, Value rhs) { return arith::AddFOp::create(builder, loc, lhs, rhs); }
Value BlockBuilder::sub(Value lhs, Value rhs) { return arith::SubFOp::create(builder, loc, lhs, rhs); }
Value BlockBuilder::mul(Value lhs, Value rhs) { return arith::MulFOp::create(builder, loc, lhs, rhs); }
Value BlockBuilder::div(Value lhs, Value rhs) { return arith::DivFOp::create(builder, loc, lhs, rhs); }
Value BlockBuilder::exp(Value value) { return math::ExpOp::create(builder, loc, value); }
Value BlockBuilder::log(Value value) { return math::LogOp::create(builder, loc, value); }

/// Builds one instruction, which returns `rhs` if an operand is NaN.
Value BlockBuilder::max(Value lhs, Value rhs) {
  Value isGreater = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, lhs, rhs);
  return arith::SelectOp::create(builder, loc, isGreater, lhs, rhs);
}

/// Computes a·b + c, with one rounding if the target has fused multiply-add.
Value BlockBuilder::mulAdd(Value a, Value b, Value c) {
  auto contract = arith::FastMathFlags::contract;
  return arith::AddFOp::create(builder, loc, arith::MulFOp::create(builder, loc, a, b, contract), c, contract);
}

Value BlockBuilder::getLaneNumbers() {
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  auto type = VectorType::get(lanes, builder.getI32Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
}

Value BlockBuilder::toI32(Value index) { return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index); }

Value BlockBuilder::selectLanes(bool fromBound, Value bound, Value value, Value other) {
  Value lane = getLaneNumbers(), number = toI32(bound);
  auto predicate = fromBound ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle;
  Value isChosen = arith::CmpIOp::create(builder, loc, predicate, lane,
                                         vector::BroadcastOp::create(builder, loc, lane.getType(), number));
  return arith::SelectOp::create(builder, loc, isChosen, value, other);
}

Value BlockBuilder::replaceLanes(Value value, double number, double other) {
  Value isNumber = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value, splat(number));
  return arith::SelectOp::create(builder, loc, isNumber, splat(other), value);
}

Value BlockBuilder::getPositions(Value first, int64_t last) {
  Value lane = getLaneNumbers();
  Value start = vector::BroadcastOp::create(builder, loc, lane.getType(), toI32(first));
  Value limit = vector::BroadcastOp::create(builder, loc, lane.getType(), toI32(index(last)));
  return arith::MinSIOp::create(builder, loc, arith::AddIOp::create(builder, loc, start, lane), limit);
}

Value BlockBuilder::subIndex(Value lhs, Value rhs) { return builder.createOrFold<arith::SubIOp>(loc, lhs, rhs); }
Value BlockBuilder::minIndex(Value lhs, Value rhs) { return builder.createOrFold<arith::MinSIOp>(loc, lhs, rhs); }
Value BlockBuilder::maxIndex(Value lhs, Value rhs) { return builder.createOrFold<arith::MaxSIOp>(loc, lhs, rhs); }
