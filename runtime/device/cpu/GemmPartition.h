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

/// How a GEMM is split into parts that one thread computes each, with a library
/// that is told of no other thread.
struct GemmPartition {
  /// The first batch dimensions, over which parts are separate calls. A call
  /// covers the dimensions after them.
  size_t outer_dims;
  /// Sizes of a part of C; the last parts may be smaller. Only a call of one
  /// matrix has less than all of C.
  int64_t rows, columns;
};

/// Fewer operations than this are not worth a second thread: some 15
/// microseconds of one core.
inline constexpr double kLeastPartFlops = 1 << 20;

/// Splits the batch first, then rows and columns of C as evenly as the number of
/// threads allows, in blocks that pack little of A and B more than once.
GemmPartition PartitionGemm(const GemmProblem &problem, int threads);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_GEMMPARTITION_H
