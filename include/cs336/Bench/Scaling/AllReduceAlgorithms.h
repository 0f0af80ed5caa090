//===- AllReduceAlgorithms.h - Costs of all-reduces -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_SCALING_ALLREDUCEALGORITHMS_H
#define CS336_BENCH_SCALING_ALLREDUCEALGORITHMS_H

#include "cs336/Cost/Interconnect.h"

#include <optional>

namespace cs336::bench {

/// Algorithms of an all-reduce of B bytes between n ranks.
enum class AllReduceAlgorithm {
  /// The standard ring: a reduce-scatter and an all-gather, which pass parts of B/n bytes. 2(n - 1) steps, and
  /// 2(n - 1)/n · B bytes per rank.
  Ring,
  /// The alternate ring: each rank sends whole buffers, first its own and then each received buffer except the last,
  /// and adds all of them. n - 1 steps, and (n - 1) · B bytes per rank.
  WholeBufferRing,
  /// Each rank sends its buffer to all others at once. 1 step, and (n - 1) · B bytes per rank.
  OneShot,
  /// Recursive halving and doubling: a reduce-scatter and an all-gather between ranks at distances 1, 2, 4, …
  /// 2 log2(n) steps, and 2(n - 1)/n · B bytes per rank. n is a power of two.
  HalvingDoubling
};

/// Returns all algorithms.
llvm::ArrayRef<AllReduceAlgorithm> getAllReduceAlgorithms();

/// "ring", "whole-buffer ring", "one-shot" or "halving-doubling".
llvm::StringRef stringifyAllReduceAlgorithm(AllReduceAlgorithm algorithm);

/// The steps of an algorithm, and the bytes that each rank sends.
struct AllReduceCost {
  int64_t steps, sentBytes;
};

/// Returns nullopt for a number of ranks that the algorithm does not support, or if the bytes exceed 63 bits.
std::optional<AllReduceCost> getAllReduceCost(AllReduceAlgorithm algorithm, int64_t ranks, int64_t bytes);

/// Returns the link that determines the time of these algorithms, which treat all ranks alike: the network if the ranks
/// are on several hosts. The collectives of Interconnect.h, in contrast, use both links.
const Link &getSlowestLink(const Interconnect &links, int64_t ranks);

/// Returns the size in bytes at which the ring and the whole-buffer ring take equally long: below, the latter is
/// faster. (n - 1)(L + B/W) = 2(n - 1)L + 2(n - 1)/n · B/W gives B = LWn/(n - 2), for a latency L per step and W bytes
/// per second. Returns nullopt for 2 ranks, where the whole-buffer ring is always faster.
std::optional<double> getEqualBytes(const Link &link, int64_t ranks);

} // namespace cs336::bench

#endif // CS336_BENCH_SCALING_ALLREDUCEALGORITHMS_H
