//===- ModelProfile.h - Where the time of a model's steps goes -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELPROFILE_H
#define CS336_BENCH_MODEL_MODELPROFILE_H

#include "cs336/Bench/Model/ModelBenchmark.h"
#include "cs336/Bench/Timing/StepTimer.h"

namespace cs336::bench {

/// The steps that run under a profiler, in a session of their own.
struct ProfiledSteps {
  std::string entry;
  uint64_t seed = 0;
  /// Steps before the profiled ones, and those.
  int64_t warmup = 0, steps = 0;
};

/// Runs warm-up steps, then steps under a profiler, in a new session: being profiled takes time, which a measurement
/// does not show. `report` gets the number of each profiled step when it begins, and `times` the time of each.
absl::StatusOr<RunProfile> profileSteps(std::shared_ptr<const runtime::Executable> executable,
                                        const runtime::SessionOptions &options, const runtime::TensorMap &batch,
                                        const ProfiledSteps &steps, llvm::function_ref<void(int64_t)> report,
                                        StepTimes &times);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELPROFILE_H
