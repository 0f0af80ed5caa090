//===- AttentionTimes.h - Times of the parts of attention -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROFILE_ATTENTIONTIMES_H
#define CS336_BENCH_PROFILE_ATTENTIONTIMES_H

#include "cs336/Driver/Run/RunProfile.h"

#include <cstdint>
#include <optional>

namespace cs336::bench {

/// The time that the forward pass spends in the parts of attention, of all layers together, in nanoseconds.
struct AttentionTimes {
  /// The time of each range (see `getRange`). The scale belongs to the scores. An operation that shares a kernel with
  /// others belongs to the range of this kernel.
  int64_t scores = 0, mask = 0, softmax = 0, values = 0;
  /// The time of a kernel that computes all of them.
  int64_t fused = 0;
  /// The time of the GEMMs in scores and values.
  int64_t matmuls = 0;

  int64_t getTotal() const { return scores + mask + softmax + values + fused; }
  /// Returns the time of the softmax divided by the time of the matmuls, or nullopt unless they have separate kernels.
  std::optional<double> getSoftmaxOverMatmuls() const;
};

AttentionTimes computeAttentionTimes(const RunProfile &profile);

/// Returns the FLOPs of a softmax of S x S scores (scale, maximum, subtraction, exponential and division: 5·S²) divided
/// by those of the matmuls of scores and values (4·S²·headDim).
double getSoftmaxFlopsOverMatmuls(int64_t headDim);

} // namespace cs336::bench

#endif // CS336_BENCH_PROFILE_ATTENTIONTIMES_H
