//===- Autotuner.h - Schedules by measurement -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_COMPILE_AUTOTUNER_H
#define CS336_DRIVER_COMPILE_AUTOTUNER_H

#include "cs336/Driver/Compile/CompileModule.h"

#include <string>

namespace cs336 {

/// Measures schedules of a program's kernels, and stores the fastest. lib/Driver/Tune implements it.
class Autotuner {
public:
  virtual ~Autotuner() = default;

  /// Returns the path of a file of tuned schedules (see TunedSchedules.h) for the kernels of a planned program, or an
  /// empty string if no kernel was tuned. Fails with diagnostics.
  virtual llvm::FailureOr<std::string> tune(mlir::ModuleOp planned) = 0;
};

/// Lets `options.autotuner` tune a copy of the module, and returns the options with the tuned schedules in `pipeline`
/// and without an autotuner. Returns `options` if it has no autotuner. A module whose memory is planned cannot be
/// tuned: a warning reports it. Fails with diagnostics.
llvm::FailureOr<CompileOptions> tuneSchedules(mlir::ModuleOp module, const CompileOptions &options);

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_AUTOTUNER_H
