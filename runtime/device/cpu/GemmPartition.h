//===- GemmPartition.h - A GEMM's parts, one per thread ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CPU_GEMMPARTITION_H
#define CS336_RUNTIME_DEVICE_CPU_GEMMPARTITION_H

#include "device/GemmProblem.h"

#include <cstddef>
#include <cstdint>

namespace cs336::runtime {

/// The split of a GEMM into parts. One thread computes each part, with a
/// library that uses no threads of its own.
struct GemmPartition {
  /// The first batch dimensions, whose elements are separate calls. A call
  /// covers the dimensions after them.
  size_t outer_dims;
  /// Sizes of a part of C; the last parts may be smaller. A part is smaller
  /// than C only if a call computes one matrix.
  int64_t rows, columns;
};

/// GEMMs with fewer operations than this use one thread: about 15 microseconds
/// of one core.
inline constexpr double kLeastPartFlops = 1 << 20;

/// Splits the batch first, then rows and columns of C as evenly as the number
/// of threads allows, into blocks that pack few elements of A and B more than
/// once.
GemmPartition PartitionGemm(const GemmProblem &problem, int threads);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_GEMMPARTITION_H
