//===- IntegerBound.cpp - Integers below a bound --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tensor/IntegerBound.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>

namespace cs336::runtime {

namespace {

template <typename T>
absl::Status CheckElements(absl::string_view what, const TensorView &integers, int64_t bound) {
  absl::Span<const T> values = integers.values<T>();
  auto bad = std::find_if(values.begin(), values.end(), [&](T element) { return element < 0 || element >= bound; });
  if (bad == values.end())
    return absl::OkStatus();
  return OutsideOfBound(what, integers.shape(), bad - values.begin(), *bad, bound);
}

} // namespace

absl::Status OutsideOfBound(absl::string_view what, const Dims &shape, int64_t place, int64_t value, int64_t bound) {
  Dims index(shape.size());
  for (size_t dim = index.size(); dim-- > 0; place /= shape[dim])
    index[dim] = place % shape[dim];
  return absl::InvalidArgumentError(
      absl::StrCat(what, " holds ", value, " at [", absl::StrJoin(index, ", "), "], outside of [0, ", bound, ")"));
}

absl::Status CheckBound(absl::string_view what, const TensorView &integers, int64_t bound) {
  return integers.dtype() == DType::kI64 ? CheckElements<int64_t>(what, integers, bound)
                                         : CheckElements<int32_t>(what, integers, bound);
}

} // namespace cs336::runtime
