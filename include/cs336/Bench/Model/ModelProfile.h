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
  /// Steps before the timed ones; and the number of profiled steps, and of steps without the profiler before them.
  int64_t warmup = 0, steps = 0;
  /// Receives the spans of the profiled steps, unless it is null.
  RunProfiler::Consumer consumer = nullptr;
};

/// Profiled steps and their times.
struct StepProfile {
  /// OK, or CANCELLED if this program was asked to stop. The other members have the steps that ended before.
  absl::Status status;
  RunProfile profile;
  /// The times under the profiler, and those of the same session while the profiler was off.
  StepTimes profiled, unprofiled;
};

/// Runs warm-up steps, steps without the profiler, and steps under the profiler, in a new session. The times of the
/// last two differ by the overhead of profiling alone. `report` gets the number of each timed step when it begins.
absl::StatusOr<StepProfile> profileSteps(std::shared_ptr<const runtime::Executable> executable,
                                         const runtime::SessionOptions &options, const runtime::TensorMap &batch,
                                         const ProfiledSteps &steps, llvm::function_ref<void(int64_t)> report);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELPROFILE_H
