//===- Cast.cpp - Element type conversions --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Tensor.h"
#include "status/StatusMacros.h"
#include "tensor/Elements.h"

#include "absl/strings/str_cat.h"

#include <cmath>
#include <limits>

namespace cs336::runtime {

namespace {

/// Converts one value. Returns false if `To` cannot represent it.
template <typename From, typename To>
bool Convert(From from, To &to) {
  if constexpr (std::is_same_v<From, Bool>) {
    return Convert(static_cast<int32_t>(from), to);
  } else if constexpr (std::is_same_v<To, Bool>) {
    to = static_cast<Bool>(from != static_cast<From>(0));
  } else if constexpr (kIsFloatElement<From> && !kIsFloatElement<To>) {
    // 2^63 and 2^31 are exact in a double, and are the smallest values that do
    // not fit.
    double value = std::trunc(static_cast<double>(from));
    double limit = -static_cast<double>(std::numeric_limits<To>::min());
    if (!(value >= -limit && value < limit))
      return false;
    to = static_cast<To>(value);
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    to = static_cast<To>(from);
    return static_cast<From>(to) == from;
  } else if constexpr (std::is_integral_v<From>) {
    to = static_cast<To>(static_cast<double>(from));
  } else {
    to = static_cast<To>(from);
  }
  return true;
}

} // namespace

absl::StatusOr<Tensor> Cast(const TensorView &src, DType dtype) {
  CS336_ASSIGN_OR_RETURN(Tensor dense, Tensor::CopyOf(src));
  if (src.dtype() == dtype)
    return dense;
  CS336_ASSIGN_OR_RETURN(Tensor result, Tensor::Create({dtype, src.shape()}));
  int64_t count = dense.num_elements();
  int64_t converted = VisitElement(src.dtype(), [&](auto from) -> int64_t {
    return VisitElement(dtype, [&](auto to) -> int64_t {
      using From = typename decltype(from)::Type;
      using To = typename decltype(to)::Type;
      const From *in = dense.values<From>().data();
      To *out = result.mutable_values<To>().data();
      for (int64_t i = 0; i != count; ++i)
        if (!Convert(in[i], out[i]))
          return i;
      return count;
    });
  });
  if (converted != count)
    return absl::InvalidArgumentError(
        absl::StrCat("element ", converted, " of a ", ToString(src.type()), " does not fit into ", Name(dtype)));
  return result;
}

} // namespace cs336::runtime
