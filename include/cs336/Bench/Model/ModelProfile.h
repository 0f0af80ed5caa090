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

/// Runs the warm-up steps of the first measurement and its timed steps again under a profiler, in a session of its own:
/// being profiled takes time, which the measurement does not show. `times` gets the times of the profiled steps.
absl::StatusOr<RunProfile> profileModel(std::shared_ptr<const runtime::Executable> executable,
                                        const runtime::TensorMap &batch, const ModelDescription &description,
                                        const MeasureOptions &options, StepTimes &times);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELPROFILE_H
