//===- TimelineFlags.h - Flags of memory over time --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_TIMELINEFLAGS_H
#define CS336_BENCH_PLAN_TIMELINEFLAGS_H

#include "cs336/Bench/Plan/PredictOnFlag.h"
#include "cs336/Bench/Plan/TimelineFiles.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// `--predict-on`, `--timeline`, `--snapshot` and `--detail` of `plan`.
class TimelineFlags {
public:
  TimelineFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// Checks the flags, before anything is planned. Returns INVALID_ARGUMENT for an unknown device or an invalid size,
  /// and the errors of TimelineFiles::check.
  absl::Status check(size_t numPlans) const;

  /// Returns the model that `--predict-on` names, or null.
  const DeviceModel *getDevice() const { return device.getDevice(); }
  /// Returns the minimum size of buffers in tables, in bytes; 1 without `--detail`.
  int64_t getDetailBytes() const;
  const TimelineFiles &getFiles() const { return files; }

private:
  PredictOnFlag device;
  TimelineFiles files;
  TextFlag detail;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_TIMELINEFLAGS_H
