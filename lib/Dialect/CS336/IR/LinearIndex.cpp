//===- LinearIndex.cpp - Numbers that are linear in indices ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/LinearIndex.h"

#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace cs336;

bool LinearIndex::isExact(int64_t queries, int64_t keys, Type element) const {
  // A sum of halves would be exact too, but masks do not use it.
  for (double number : {query, key, constant})
    if (number != std::floor(number))
      return false;
  double largest =
      std::abs(constant) + std::abs(query) * static_cast<double>(queries) + std::abs(key) * static_cast<double>(keys);
  // Every integer up to 2^precision is a number of the type, and the largest number of f16 is above 2^11.
  if (auto type = dyn_cast<FloatType>(element))
    return largest <= std::ldexp(1, static_cast<int>(type.getFPMantissaWidth()));
  return (element.isInteger(32) || element.isInteger(64)) && largest < 0x1p31;
}

std::optional<LinearDistance> LinearIndex::getLinearDistance(int64_t queries, int64_t keys) const {
  // With one query or one key, its index is 0.
  double ofQuery = queries == 1 ? -key : query;
  double ofKey = keys == 1 ? -ofQuery : key;
  return ofQuery == -ofKey ? std::optional(LinearDistance{ofQuery, constant}) : std::nullopt;
}

std::optional<double> cs336::getConstantNumber(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return std::nullopt;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble();
  return static_cast<double>(splat.getSplatValue<APInt>().getSExtValue());
}

std::optional<LinearIndex> cs336::inferLinearIndex(Operation *op,
                                                   function_ref<std::optional<LinearIndex>(Value)> getNumber) {
  if (!isa<CastOp, NegOp, AddOp, SubOp, MulOp>(op))
    return std::nullopt;
  std::optional<LinearIndex> x = getNumber(op->getOperand(0));
  if (!x)
    return std::nullopt;
  if (isa<CastOp>(op))
    return tensorType(op->getOperand(0)).getElementType().isInteger(1) ? std::nullopt : x;
  if (isa<NegOp>(op))
    return -1 * *x;
  std::optional<LinearIndex> y = getNumber(op->getOperand(1));
  if (!y)
    return std::nullopt;
  if (isa<AddOp>(op))
    return *x + *y;
  if (isa<SubOp>(op))
    return *x - *y;
  auto isConstant = [](const LinearIndex &number) { return number.query == 0 && number.key == 0; };
  if (isConstant(*x))
    return x->constant * *y;
  return isConstant(*y) ? std::optional(y->constant * *x) : std::nullopt;
}

bool cs336::holds(Predicate predicate, double difference) {
  switch (predicate) {
  case Predicate::EQ:
    return difference == 0;
  case Predicate::NE:
    return difference != 0;
  case Predicate::LT:
    return difference < 0;
  case Predicate::LE:
    return difference <= 0;
  case Predicate::GT:
    return difference > 0;
  case Predicate::GE:
    return difference >= 0;
  }
  llvm_unreachable("every predicate has a case");
}
