//===- ScheduleTuner.h - The fastest schedule per kernel --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TUNE_SCHEDULETUNER_H
#define CS336_DRIVER_TUNE_SCHEDULETUNER_H

#include "cs336/Driver/Compile/Autotuner.h"
#include "cs336/Driver/Tune/CandidateTimer.h"
#include "cs336/Target/CUDA/TunableKernels.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/statusor.h"

#include <functional>
#include <memory>
#include <string>

namespace cs336 {

class TunedFile;

/// Times the candidates of each distinct problem of a program, one after the other, and stores the fastest in a file of
/// the cache's folder. A problem whose candidates and compiler have not changed since it was stored is not timed again.
/// Each problem is stored when its last candidate was timed, so an interrupted run keeps the problems before.
class ScheduleTuner : public Autotuner {
public:
  /// A candidate replaces the selection that is made without timing only if it takes at least this share less time.
  /// Smaller differences are noise.
  static constexpr double kLeastGain = 0.02;

  /// `report` receives lines about the candidates and the choices, without line ends.
  ScheduleTuner(std::unique_ptr<CandidateTimer> timer, std::string folder, std::function<void(llvm::StringRef)> report)
      : timer(std::move(timer)), folder(std::move(folder)), report(std::move(report)) {}

  llvm::FailureOr<std::string> tune(mlir::ModuleOp planned) override;

private:
  /// Returns whether the file has a schedule for the problem: false if no candidate ran.
  absl::StatusOr<bool> tuneProblem(const cuda::TunableKernel &kernel, const CandidateTimer::Identity &identity,
                                   TunedFile &file);
  absl::StatusOr<double> timeCandidate(const cuda::TunableKernel &kernel, const cuda::ScheduleSelection &selection,
                                       const CandidateTimer::Identity &identity);

  std::unique_ptr<CandidateTimer> timer;
  std::string folder;
  std::function<void(llvm::StringRef)> report;
};

} // namespace cs336

#endif // CS336_DRIVER_TUNE_SCHEDULETUNER_H
