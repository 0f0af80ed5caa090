//===- RankRun.h - One rank of a measurement --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_RANKRUN_H
#define CS336_BENCH_DDP_RANKRUN_H

#include "cs336/Bench/DDP/RankJob.h"
#include "cs336/Bench/DDP/RankResult.h"
#include "cs336/runtime/RankEnvironment.h"

#include <optional>

namespace cs336::bench {

/// Joins the group, if there are several ranks, and measures the job's program. All ranks begin each timed step
/// together. Writes the result to the rank's file, and returns its status.
absl::Status runRankJob(const RankJob &job, const std::optional<runtime::RankEnvironment> &place);

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_RANKRUN_H
