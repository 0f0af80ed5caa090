//===- PredictedTime.h - Predicted times of commands ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMELINE_PREDICTEDTIME_H
#define CS336_BENCH_TIMELINE_PREDICTEDTIME_H

#include "cs336/Cost/DeviceModel.h"
#include "cs336/Dialect/Exec/Transforms/CommandWork.h"
#include "cs336/runtime/format/Executable_generated.h"

#include <algorithm>

namespace cs336::bench {

/// The resource that a command spends the most predicted time on.
enum class Bound { Memory, Compute, Launch };

/// Returns "memory", "compute" or "launch".
llvm::StringRef stringifyBound(Bound bound);

/// The predicted seconds of a command. Memory accesses and arithmetic overlap.
struct PredictedTime {
  double memory = 0, compute = 0;
  /// The seconds of a command that does nothing.
  double launch = 0;

  double getTotal() const { return launch + std::max(memory, compute); }
  /// Returns Launch if the constant time of a command is longer than the time of its work.
  Bound getBound() const;
};

/// Returns the parts of the time of a command other than a collective. They are 0 for commands without work, which
/// record or await an event.
PredictedTime predictTime(const DeviceModel &device, const exec::Work &work, format::Arithmetic arithmetic);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMELINE_PREDICTEDTIME_H
