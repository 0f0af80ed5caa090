//===- StridesTest.cpp - Strides of memrefs -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Strides.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <vector>

namespace cs336 {
namespace {

using mlir::AffineMap;
using mlir::MemRefType;
using mlir::MLIRContext;
using mlir::ShapedType;
using mlir::StridedLayoutAttr;

/// Expects the strides and the offset of MLIR's own function.
void expectTheSame(MemRefType type) {
  llvm::SmallVector<int64_t> strides{7}, expected; // A caller may reuse its vector.
  int64_t offset = -1, expectedOffset = -1;
  bool isStrided = succeeded(getStridesAndOffset(type, strides, offset));
  ASSERT_EQ(isStrided, succeeded(type.getStridesAndOffset(expected, expectedOffset)));
  if (!isStrided)
    return;
  EXPECT_EQ(llvm::ArrayRef(strides), llvm::ArrayRef(expected));
  EXPECT_EQ(offset, expectedOffset);
}

TEST(StridesTest, PlainMemrefsHaveTheProductsOfTheirSizes) {
  MLIRContext context;
  auto element = mlir::Float32Type::get(&context);
  llvm::SmallVector<int64_t> strides;
  int64_t offset = -1;
  ASSERT_TRUE(succeeded(getStridesAndOffset(MemRefType::get({2, 3, 4}, element), strides, offset)));
  EXPECT_EQ(llvm::ArrayRef(strides), llvm::ArrayRef<int64_t>({12, 4, 1}));
  EXPECT_EQ(offset, 0);
  std::vector<std::vector<int64_t>> shapes = {
      {}, {1}, {5}, {1, 1}, {3, 1, 4}, {4, 0, 2}, {0}, {ShapedType::kDynamic, 3}, {3, ShapedType::kDynamic, 2}};
  for (const std::vector<int64_t> &shape : shapes)
    expectTheSame(MemRefType::get(shape, element));
}

TEST(StridesTest, LayoutsHaveTheirOwnStrides) {
  MLIRContext context;
  auto element = mlir::Float32Type::get(&context);
  expectTheSame(MemRefType::get({2, 3}, element, StridedLayoutAttr::get(&context, 5, {1, 2})));
  expectTheSame(MemRefType::get({2, 3}, element, StridedLayoutAttr::get(&context, ShapedType::kDynamic, {0, 1})));
  expectTheSame(
      MemRefType::get({2, 3}, element, AffineMap::getPermutationMap(llvm::ArrayRef<int64_t>({1, 0}), &context)));
  mlir::AffineExpr row = mlir::getAffineDimExpr(0, &context);
  expectTheSame(MemRefType::get({4}, element, AffineMap::get(1, 0, row.floorDiv(2))));
}

} // namespace
} // namespace cs336
