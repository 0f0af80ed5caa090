//===- WaysToFit.h - Changes that make a model fit --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_WAYSTOFIT_H
#define CS336_BENCH_PLAN_WAYSTOFIT_H

#include "cs336/Bench/Plan/ModelPlan.h"

#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// A change of a model, or of its compilation, that makes it fit into a limit of memory.
struct WayToFit {
  /// The change as flags: "--batch-size 2", "--fusion flash --dtype bf16".
  std::string flags;
  /// The memory of one rank.
  int64_t totalBytes;
  /// Predicted seconds per token of one rank.
  double secondsPerToken;
  int64_t ranks = 1;
};

struct WaysToFit {
  std::vector<WayToFit> ways;
  /// If recomputation is possible but no size of blocks fits: the variant with the least memory.
  std::optional<WayToFit> leastRecomputation;
  /// The same for ranks that share the variables, if they were planned.
  std::optional<WayToFit> leastSharding;
  /// The change with the least memory of all that were planned on one rank, whether it fits or not. Absent if none was
  /// planned.
  std::optional<WayToFit> least;
};

/// Finds changes that bring the model below `limit`. It plans each of them: more fusion, lower types, both, the least
/// recomputation (`--memory-budget`), the fewest layers that are recomputed together from one kept input, the largest
/// smaller batch, and the largest smaller context. The next larger batch or context, or fewer layers together, do not
/// fit. None of these is planned in types in which a step of one token does not fit. If none fits, a step of one token
/// is a change too, and then ranks that share the variables (`fsdp`): 2, 4, …, 1024. A larger limit never gives a
/// smaller batch or context, or more layers together.
///
/// `pipeline` has the parsed pipeline options of `options`. The changes replace its memory budget. `device` predicts
/// times, as in `planModel`.
absl::StatusOr<WaysToFit> findWaysToFit(const ModelDescription &description, const CompileOptions &options,
                                        const PipelineOptions &pipeline, int64_t limit,
                                        const DeviceModel *device = nullptr);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_WAYSTOFIT_H
