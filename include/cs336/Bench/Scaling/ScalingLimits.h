//===- ScalingLimits.h - Where communication binds --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_SCALING_SCALINGLIMITS_H
#define CS336_BENCH_SCALING_SCALINGLIMITS_H

#include "cs336/Bench/Scaling/ScalingModel.h"

#include <optional>

namespace cs336::bench {

/// The number of sequences of a step: in total, or per device.
struct ScalingBatch {
  int64_t sequences;
  bool isPerDevice;

  int64_t getSequences(int64_t ranks) const { return isPerDevice ? sequences * ranks : sequences; }
};

/// The largest number of ranks in the search, which tries all numbers within a host, and then whole hosts.
inline constexpr int64_t kMostRanks = int64_t(1) << 17;

struct RankLimit {
  /// The largest number of ranks before the first one at which communication binds, and its division.
  int64_t ranks = 1;
  RankGrid grid;
  /// Ends the search: "communication"; "sequences" if there are more ranks than sequences; "heads" if no larger number
  /// of tensor ranks divides the heads and d_ff; "search" at `kMostRanks`.
  llvm::StringRef endedBy = "search";
};

RankLimit findMostRanks(const ScalingModel &model, Strategy strategy, const ScalingBatch &batch);

/// Returns the smallest number of tokens per device with which computation takes longer than communication in both
/// passes, or nullopt if it is above 2^30. Without latencies, on one link of W bytes per second, with C FLOP/s and many
/// ranks, dp and fsdp take about eC / 2W: a layer computes 4PT FLOPs backward, and sends 2eP bytes.
std::optional<int64_t> findLeastTokens(const ScalingModel &model, Strategy strategy, RankGrid grid);

} // namespace cs336::bench

#endif // CS336_BENCH_SCALING_SCALINGLIMITS_H
