//===- LinearIndex.cpp - Numbers that are linear in indices ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/LinearIndex.h"

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
  if (element.isF32())
    return largest <= 0x1p24;
  if (element.isF64())
    return largest <= 0x1p53;
  return (element.isInteger(32) || element.isInteger(64)) && largest < 0x1p31;
}

std::optional<LinearDistance> LinearIndex::getLinearDistance(int64_t queries, int64_t keys) const {
  // With one query or one key, its index is 0.
  double ofQuery = queries == 1 ? -key : query;
  double ofKey = keys == 1 ? -ofQuery : key;
  return ofQuery == -ofKey ? std::optional(LinearDistance{ofQuery, constant}) : std::nullopt;
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
