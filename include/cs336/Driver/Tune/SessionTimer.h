//===- SessionTimer.h - Times of one kernel on a GPU ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TUNE_SESSIONTIMER_H
#define CS336_DRIVER_TUNE_SESSIONTIMER_H

#include "cs336/Driver/Tune/CandidateTimer.h"
#include "cs336/runtime/DeviceId.h"

#include <functional>

namespace cs336 {

/// Runs each program in a session of its own on a GPU: a few warm-ups, then the timed runs, which the GPU measures. The
/// second-level cache keeps what fits from one run to the next.
class SessionTimer : public CandidateTimer {
public:
  /// Compiled kernels are taken from `cacheFolder` and kept there. `interruption` is called before each run, and ends
  /// the tuning with an error.
  SessionTimer(runtime::DeviceId device, std::string cacheFolder, std::function<absl::Status()> interruption)
      : device(device), cacheFolder(std::move(cacheFolder)), interruption(std::move(interruption)) {}

  /// Errors: NOT_FOUND without a driver, without the GPU, or without NVRTC.
  absl::StatusOr<Identity> identify() override;
  absl::StatusOr<double> time(mlir::ModuleOp program) override;

private:
  runtime::DeviceId device;
  std::string cacheFolder;
  std::function<absl::Status()> interruption;
};

} // namespace cs336

#endif // CS336_DRIVER_TUNE_SESSIONTIMER_H
