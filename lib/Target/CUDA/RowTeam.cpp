//===- RowTeam.cpp - The threads that share a row -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A multiprocessor has 64 Ki registers. A thread has at most 255, or 128 in a block of 512 threads and 64 in a block of
// 1024. Rows in flight hide the memory's latency: at 4.3 TB/s and 0.8 us, this takes 26 KB in each of 132
// multiprocessors. So a thread holds as many elements as possible, while enough registers remain for its arithmetic and
// for two or more rows per multiprocessor. Teams are as small as this allows: the fewer threads share a row, the less
// they wait for each other.
//
//===----------------------------------------------------------------------===//

#include "RowTeam.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

using namespace cs336::cuda;

/// Returns the number of registers of a thread that may hold elements.
static int64_t getHeldRegisters(int64_t threads) { return threads <= 512 ? 64 : 24; }

RowTeam RowTeam::choose(int64_t vectors, int64_t width, int64_t registersPerVector) {
  constexpr int64_t mostThreads = 1024, threadsThatReadAgain = 512;
  // Teams smaller than a warp share the warp. They have enough threads to read whole sectors of memory, and enough
  // elements per thread to make up for the reduction's steps.
  const int64_t fewestThreads = std::min<int64_t>(llvm::PowerOf2Ceil(vectors), 8);
  const int64_t stepsWithinWarp = std::max<int64_t>(2, 8 / width);
  constexpr double goodUtilization = 0.9;

  std::optional<RowTeam> best;
  double bestUtilization = 0;
  for (int64_t threads = fewestThreads; threads <= mostThreads;
       threads = threads < threadsPerWarp ? 2 * threads : threads + threadsPerWarp) {
    int64_t steps = llvm::divideCeil(vectors, threads);
    if (steps * registersPerVector > getHeldRegisters(threads) || (threads < threadsPerWarp && steps > stepsWithinWarp))
      continue;
    double utilization = double(vectors) / double(threads * steps);
    if (utilization > bestUtilization) {
      best = {threads, steps, /*holdsRow=*/true};
      bestUtilization = utilization;
    }
    if (utilization >= goodUtilization)
      break;
  }
  if (best)
    return *best;
  int64_t threads = std::min<int64_t>(llvm::alignTo(vectors, threadsPerWarp), threadsThatReadAgain);
  return {threads, static_cast<int64_t>(llvm::divideCeil(vectors, threads)), /*holdsRow=*/false};
}
