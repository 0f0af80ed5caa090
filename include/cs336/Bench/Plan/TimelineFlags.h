//===- TimelineFlags.h - Flags of memory over time --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_TIMELINEFLAGS_H
#define CS336_BENCH_PLAN_TIMELINEFLAGS_H

#include "cs336/Bench/Plan/PredictOnFlag.h"
#include "cs336/Bench/Timeline/MemoryTimeline.h"
#include "cs336/Driver/Compile/OutputPaths.h"
#include "cs336/Driver/Flags/FlagParsers.h"
#include "llvm/Support/JSON.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// `--predict-on`, `--timeline`, `--snapshot` and `--detail` of `plan`.
class TimelineFlags {
public:
  TimelineFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// Call before anything is planned. INVALID_ARGUMENT for an unknown device, for a timeline that is neither CSV nor
  /// JSON, for a size that is none, and for files of a sweep. NOT_FOUND if the folder of a file does not exist.
  absl::Status check(size_t numPlans) const;

  /// Returns the model that `--predict-on` names, or null.
  const DeviceModel *getDevice() const { return device.getDevice(); }
  /// Returns the least bytes of buffers in tables; 1 without `--detail`.
  int64_t getDetailBytes() const;
  /// Returns the flags and their files, for CompileFlags::checkOutputs.
  std::vector<OutputPath> getPaths() const { return {{"--timeline", timeline}, {"--snapshot", snapshot}}; }

  /// Writes the files that the flags name, each completely or not at all. `context` becomes a part of JSON.
  absl::Status write(const MemoryTimeline &plan, llvm::json::Object context) const;

private:
  PredictOnFlag device;
  TextFlag timeline, snapshot, detail;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_TIMELINEFLAGS_H
