//===- StepValues.h - What a step computes, for comparison ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_STEPVALUES_H
#define CS336_BENCH_MODEL_STEPVALUES_H

#include "cs336/Bench/Peer/Tolerance.h"
#include "cs336/Frontend/ModelDescription.h"
#include "cs336/Pipelines/Pipelines.h"
#include "cs336/runtime/Session.h"

#include <optional>

namespace cs336::bench {

/// The loss of a batch, and the norm of all parameters' gradients together where the step computes them.
struct StepValues {
  double loss;
  std::optional<double> gradNorm;
};

/// Relative differences of two sides' values.
struct Agreement {
  double loss;
  std::optional<double> gradNorm;
  /// Returns whether both differences are within the tolerance of the type. It accounts for another order of sums in
  /// float32, and for factors with 11 or 8 bits in other types.
  bool isClose;
};

Agreement compare(const StepValues &ours, const StepValues &theirs, ComputeType type);

/// Returns the loss that the entry's last run computed.
absl::StatusOr<double> readLoss(const runtime::Session &session, llvm::StringRef entry);

/// Runs one step with the current variables, and reads its values. A training step changes the variables. Its gradients
/// are computed from the new first moments, m = (1 - beta1)·g, so the moments must be zero before the step. `batch`
/// holds `tokens` and `targets`.
absl::StatusOr<StepValues> runStep(runtime::Session &session, const ModelDescription &description,
                                   const runtime::TensorMap &batch);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_STEPVALUES_H
