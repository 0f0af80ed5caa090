//===- Reduce.cpp - Reductions over ranks' blocks -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/Reduce.h"

#include "tensor/Elements.h"

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"

#include <type_traits>

namespace cs336::runtime {

namespace {

/// A NaN of any rank stays in the result.
template <typename T>
T Combine(T a, T b, Reduction reduction) {
  switch (reduction) {
  case Reduction::kMax:
    return a < b || b != b ? b : a;
  case Reduction::kMin:
    return b < a || b != b ? b : a;
  case Reduction::kSum:
  case Reduction::kMean:
    break;
  }
  return a + b;
}

template <typename T>
void ReduceElements(absl::Span<const void *const> src, int64_t src_begin, absl::Span<void *const> dst,
                    int64_t dst_begin, int64_t count, Reduction reduction) {
  // A sum of all ranks' integers has no more bits than this, so that a mean is right.
  using Sum = std::conditional_t<std::is_integral_v<T>, absl::int128, Accumulator<T>>;
  auto element = [&](size_t rank, int64_t i) {
    return static_cast<Sum>(static_cast<const T *>(src[rank])[src_begin + i]);
  };
  for (int64_t i = 0; i != count; ++i) {
    Sum value = element(0, i);
    for (size_t rank = 1; rank != src.size(); ++rank)
      value = Combine(value, element(rank, i), reduction);
    if (reduction == Reduction::kMean)
      value = value / static_cast<Sum>(src.size());
    for (void *block : dst)
      static_cast<T *>(block)[dst_begin + i] = static_cast<T>(value);
  }
}

} // namespace

absl::Status CheckReducible(DType dtype) {
  if (dtype == DType::kI1)
    return absl::InvalidArgumentError(absl::StrCat("values of type ", Name(dtype), " cannot be reduced"));
  return absl::OkStatus();
}

void ReduceRange(absl::Span<const void *const> src, int64_t src_begin, absl::Span<void *const> dst, int64_t dst_begin,
                 int64_t count, DType dtype, Reduction reduction) {
  VisitElement(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (!std::is_same_v<T, Bool>)
      ReduceElements<T>(src, src_begin, dst, dst_begin, count, reduction);
  });
}

} // namespace cs336::runtime
