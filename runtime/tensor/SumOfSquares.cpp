//===- SumOfSquares.cpp - The squared norm of a tensor --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Tensor.h"
#include "parallel/Parallel.h"
#include "status/StatusMacros.h"
#include "tensor/Elements.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cs336::runtime {

namespace {

/// Uses several partial sums, which do not depend on each other.
template <typename T>
double AddSquares(const T *values, int64_t count) {
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane != kLanes; ++lane) {
      auto value = static_cast<double>(values[i + lane]);
      sums[lane] += value * value;
    }
  for (; i != count; ++i)
    sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return std::accumulate(sums, sums + kLanes, 0.0);
}

} // namespace

absl::StatusOr<double> SumOfSquares(const TensorView &tensor) {
  if (tensor.dtype() == DType::kI1)
    return absl::InvalidArgumentError("a sum of squares is not defined for i1");
  if (!tensor.is_dense()) {
    CS336_ASSIGN_OR_RETURN(Tensor dense, Tensor::CopyOf(tensor));
    return SumOfSquares(dense.view());
  }
  int64_t count = tensor.num_elements();
  // The parts have a fixed size, so that the sum does not depend on the number
  // of threads.
  constexpr int64_t kPart = 1 << 16;
  std::vector<double> parts((count + kPart - 1) / kPart);
  VisitElement(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (!std::is_same_v<T, Bool>) {
      const T *values = tensor.data_as<T>();
      ParallelFor(static_cast<int64_t>(parts.size()), /*grain=*/4, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part != end; ++part)
          parts[part] = AddSquares(values + part * kPart, std::min(kPart, count - part * kPart));
      });
    }
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

} // namespace cs336::runtime
