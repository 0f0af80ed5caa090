//===- IntegerBound.h - Integers below a bound ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_INTEGERBOUND_H
#define CS336_RUNTIME_TENSOR_INTEGERBOUND_H

#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <cstdint>

namespace cs336::runtime {

/// Returns INVALID_ARGUMENT such as "input 'ids' holds 200 at [1, 3], outside
/// of [0, 97)", for element `index` of `what` in row-major order.
absl::Status OutsideOfBound(absl::string_view what, const Dims &shape, int64_t place, int64_t value, int64_t bound);

/// Checks that every element of a dense view of i64 or i32 is in [0, bound).
/// Otherwise returns OutsideOfBound() for the first element that is not.
absl::Status CheckBound(absl::string_view what, const TensorView &integers, int64_t bound);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_INTEGERBOUND_H
