//===- StepTimer.h - Times of equal runs ------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STEPTIMER_H
#define CS336_TOOLS_BENCH_STEPTIMER_H

#include "cs336/runtime/Session.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/statusor.h"

#include <vector>

namespace cs336::bench {

/// Milliseconds of runs, one by one.
struct StepTimes {
  /// By the host's clock: inputs, the launch of the run, and waiting for its end.
  std::vector<double> host;
  /// On a GPU, by its own: from the first command of the run to the end of its last. Empty elsewhere.
  std::vector<double> device;
};

/// Runs the entry `warmup` times, then `steps` times, each of which is timed. `report` hears before each run whether it
/// is timed, and which share of all is done. CANCELLED if this program is asked to stop between two runs.
absl::StatusOr<StepTimes> timeSteps(runtime::Session &session, llvm::StringRef entry,
                                    llvm::ArrayRef<runtime::NamedTensor> arguments, int64_t warmup, int64_t steps,
                                    llvm::function_ref<void(bool, double)> report);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STEPTIMER_H
