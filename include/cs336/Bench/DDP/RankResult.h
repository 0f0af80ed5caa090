//===- RankResult.h - Measurements of one rank ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_RANKRESULT_H
#define CS336_BENCH_DDP_RANKRESULT_H

#include "cs336/Bench/DDP/GatherWaits.h"
#include "cs336/Bench/DDP/Overlap.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// The measurements of one rank, which it writes to a file for the launcher.
struct RankResult {
  /// OK, or the error that ended the rank. The other members contain the measurements before the error.
  absl::Status status;
  /// The first step's loss, as every rank computes it over all ranks, and the norm of all gradients.
  double loss = 0, gradNorm = 0;
  /// The loss of the last timed step.
  double lastLoss = 0;
  /// Times of the timed steps by the host's clock, and by the GPU's.
  std::vector<double> stepMilliseconds, deviceMilliseconds;
  /// The time of joining the group, and of creating the session.
  double joinSeconds = 0, loadSeconds = 0;
  /// The memory that the GPU reports as used after the steps.
  std::optional<int64_t> deviceMemoryBytes;
  /// The sums over all profiled steps. Absent without a profile.
  std::optional<Overlap> overlap;
  std::optional<GatherWaits> gatherWaits;
  /// The times of the profiled steps, by the GPU's clock if there is one.
  std::vector<double> profiledMilliseconds;
  /// The reason why a GPU's kernels could not be timed. Empty otherwise.
  std::string profileNote;
};

absl::Status writeRankResult(const RankResult &result, llvm::StringRef path);
/// Returns NOT_FOUND if the rank wrote no result, INVALID_ARGUMENT if the file is damaged.
absl::StatusOr<RankResult> readRankResult(llvm::StringRef path);

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_RANKRESULT_H
