//===- Sizes.h - Limits of sizes, and saturating arithmetic -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type constraints of both dialects call these functions, so that after verification no size, stride or number of
// bytes overflows. Costs may: a matmul of large tensors has more than 2^63 FLOPs. They saturate.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_SIZES_H
#define CS336_DIALECT_CS336_IR_SIZES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace cs336 {

/// Returns true for f64, f32, bf16, f16, i64, i32 and i1.
bool isElementType(mlir::Type type);

/// Returns true if a dense tensor or buffer of static shape has at most 2^56 bytes: sums over operands fit in int64.
/// Sizes of 0 count as 1, so that the strides fit too.
bool hasRepresentableSize(mlir::ShapedType type);

/// Returns true if a dense tensor or buffer of static shape has an element, and at most 2^48 bytes: more than any
/// machine has, and few enough for sums over the buffers of a program.
bool hasStorableSize(mlir::ShapedType type);

/// Returns true if a program can keep a value of this type in memory: a ranked tensor of the dialect's elements for
/// which `hasStorableSize` holds.
bool isStorable(mlir::Type type);

/// The types that `isStorable` accepts, for errors.
inline constexpr llvm::StringLiteral kStorable =
    "a tensor of f64, f32, bf16, f16, i64, i32 or i1 with static sizes, none of them 0, and at most 2^48 bytes";

/// Returns the sum of two non-negative numbers, at most the largest int64_t.
inline int64_t addSaturating(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? std::numeric_limits<int64_t>::max() : sum;
}

/// Returns a times b for non-negative numbers, at most the largest int64_t.
inline int64_t multiplySaturating(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? std::numeric_limits<int64_t>::max() : product;
}

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_SIZES_H
