//===- Elements.h - C++ types of the element types --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_ELEMENTS_H
#define CS336_RUNTIME_TENSOR_ELEMENTS_H

#include "cs336/runtime/DType.h"

#include <Eigen/Core>

namespace cs336::runtime {

/// An i1 in memory.
enum class Bool : uint8_t {};

template <typename T>
struct ElementTag {
  using Type = T;
};

/// Calls `visit` with the ElementTag of the C++ type that stores a `dtype`.
template <typename Visitor>
decltype(auto) VisitElement(DType dtype, Visitor &&visit) {
  switch (dtype) {
  case DType::kF64:
    return visit(ElementTag<double>{});
  case DType::kF32:
    return visit(ElementTag<float>{});
  case DType::kBF16:
    return visit(ElementTag<Eigen::bfloat16>{});
  case DType::kF16:
    return visit(ElementTag<Eigen::half>{});
  case DType::kI64:
    return visit(ElementTag<int64_t>{});
  case DType::kI32:
    return visit(ElementTag<int32_t>{});
  case DType::kI1:
    break;
  }
  return visit(ElementTag<Bool>{});
}

template <typename T>
inline constexpr bool kIsFloatElement = !std::is_integral_v<T> && !std::is_same_v<T, Bool>;

/// The type in which sums of T are accumulated.
template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, Eigen::bfloat16> || std::is_same_v<T, Eigen::half>, float, T>;

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_ELEMENTS_H
