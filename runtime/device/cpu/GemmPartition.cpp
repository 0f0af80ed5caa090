//===- GemmPartition.cpp - A GEMM's parts, one per thread -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/GemmPartition.h"

#include <algorithm>
#include <limits>

namespace cs336::runtime {

namespace {

/// Sides of parts are multiples of this number, which the tile sizes of the
/// libraries' inner kernels divide.
constexpr int64_t kRound = 16;

/// The time to pack an element of A or B, in units of one multiply-add of the
/// inner kernel.
constexpr double kPackCost = 12;

/// Returns the side of one of `parts` parts of `size`.
int64_t PartSize(int64_t size, int64_t parts) {
  int64_t part = (size + parts - 1) / parts;
  return std::min(size, (part + kRound - 1) / kRound * kRound);
}

} // namespace

GemmPartition PartitionGemm(const GemmProblem &problem, int threads) {
  int64_t m = problem.c.rows, n = problem.c.columns;
  double matrix_flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(problem.a.columns);
  GemmPartition partition{problem.batch.size(), m, n};

  // One call computes several small matrices.
  double call_flops = matrix_flops;
  while (partition.outer_dims > 0 && call_flops < kLeastPartFlops)
    call_flops *= static_cast<double>(problem.batch[--partition.outer_dims]);
  int64_t calls = 1;
  for (size_t i = 0; i != partition.outer_dims; ++i)
    calls *= problem.batch[i];
  if (partition.outer_dims != problem.batch.size())
    return partition;

  // Split each matrix into parts.
  double worth = std::max(matrix_flops / kLeastPartFlops, 1.0);
  int64_t parts = std::min((threads + calls - 1) / calls, static_cast<int64_t>(std::min<double>(worth, threads)));
  double least_cost = std::numeric_limits<double>::max();
  for (int64_t row_parts = 1; row_parts <= parts; ++row_parts) {
    auto rows = PartSize(m, row_parts), columns = PartSize(n, parts / row_parts);
    double cost =
        static_cast<double>(rows) * static_cast<double>(columns) + kPackCost * static_cast<double>(rows + columns);
    if (cost < least_cost) {
      least_cost = cost;
      partition.rows = rows;
      partition.columns = columns;
    }
  }
  return partition;
}

} // namespace cs336::runtime
