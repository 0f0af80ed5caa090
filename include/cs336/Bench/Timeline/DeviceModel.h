//===- DeviceModel.h - Predicted times of commands --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMELINE_DEVICEMODEL_H
#define CS336_BENCH_TIMELINE_DEVICEMODEL_H

#include "cs336/Bench/Timeline/Interconnect.h"
#include "cs336/Dialect/Exec/Transforms/CommandWork.h"
#include "cs336/runtime/format/Executable_generated.h"

#include <algorithm>
#include <string>

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

/// The rates that predict the time of a command on a device. Rates are per second.
struct DeviceModel {
  /// "h200".
  llvm::StringLiteral name;
  /// Bytes that are read or written in the device's memory.
  double memoryBytes;
  /// FLOPs in float64; in float32; in float32 with TF32 multiplications; in bfloat16 and float16.
  double flops64, flops32, flopsTF32, flops16;
  /// Seconds of a command that does nothing.
  double commandSeconds;
  /// The links to other devices of this kind.
  Interconnect interconnect;

  /// Returns the parts of a command's time. They are 0 for commands without work, which record or await an event.
  PredictedTime predict(const exec::Work &work, format::Arithmetic arithmetic) const;
  /// Returns the seconds of a command other than a collective: the time of its arithmetic or of its memory accesses,
  /// whichever is longer, plus `commandSeconds`.
  double predictSeconds(const exec::Work &work, format::Arithmetic arithmetic) const {
    return predict(work, arithmetic).getTotal();
  }
};

/// Returns the models by name.
llvm::ArrayRef<DeviceModel> getDeviceModels();

/// Returns the model of that name, or null.
const DeviceModel *findDeviceModel(llvm::StringRef name);

/// Returns the model for programs of the target, unless another one is named: "h200" for a GPU, "cpu" otherwise.
const DeviceModel &getDefaultDeviceModel(bool isForGPU);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMELINE_DEVICEMODEL_H
