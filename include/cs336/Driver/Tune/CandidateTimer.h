//===- CandidateTimer.h - Times of one kernel -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TUNE_CANDIDATETIMER_H
#define CS336_DRIVER_TUNE_CANDIDATETIMER_H

#include "mlir/IR/BuiltinOps.h"

#include "absl/status/statusor.h"

#include <string>

namespace cs336 {

/// Times programs of one kernel (see cuda::buildCandidate).
class CandidateTimer {
public:
  /// The GPU's name and architecture, such as "NVIDIA H200" and "sm_90a", and a text that differs for compilers that
  /// may generate other machine code.
  struct Identity {
    std::string device, architecture, compiler;
  };

  virtual ~CandidateTimer() = default;

  virtual absl::StatusOr<Identity> identify() = 0;

  /// Compiles the program and returns the median time of a run of its entry `forward` in microseconds. CANCELLED ends
  /// the tuning; any other error is about this program alone.
  virtual absl::StatusOr<double> time(mlir::ModuleOp program) = 0;
};

} // namespace cs336

#endif // CS336_DRIVER_TUNE_CANDIDATETIMER_H
