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

/// The steps that run under a profiler, in a separate session.
struct ProfiledSteps {
  std::string entry;
  uint64_t seed = 0;
  /// The number of steps before the profiled ones, and that of profiled steps.
  int64_t warmup = 0, steps = 0;
  /// Receives the spans of the profiled steps, unless it is null.
  RunProfiler::Consumer consumer = nullptr;
};

/// Profiled steps and their times.
struct StepProfile {
  /// OK, or CANCELLED if this program was asked to stop. The other members have the steps that ended before.
  absl::Status status;
  RunProfile profile;
  StepTimes times;
};

/// Runs warm-up steps, then steps under the profiler, in a new session. `report` gets the number of each profiled step.
/// Steps without a profiler must be timed before: on a GPU, later steps of the process may take longer.
absl::StatusOr<StepProfile> profileSteps(std::shared_ptr<const runtime::Executable> executable,
                                         const runtime::SessionOptions &options, const runtime::TensorMap &batch,
                                         const ProfiledSteps &steps, llvm::function_ref<void(int64_t)> report);

/// Profiles as many steps as `measurement` has, after its warm-up steps, and adds the profile, the times of the
/// profiled steps, and the trace and the timeline that `options` request. Requires the measurement's executable, and
/// releases it. `report` is called with the stage and the completed fraction. Returns CANCELLED if this program was
/// asked to stop; the measurement then has the profiled steps that ended before, if there are any.
absl::Status profileModel(const ModelDescription &description, const MeasureOptions &options, Measurement &measurement,
                          llvm::function_ref<void(llvm::StringRef, double)> report);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELPROFILE_H
