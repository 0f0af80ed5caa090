//===- TimelineFiles.h - Flags of files of memory ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_TIMELINEFILES_H
#define CS336_BENCH_PLAN_TIMELINEFILES_H

#include "cs336/Bench/Timeline/MemoryTimeline.h"
#include "cs336/Driver/Compile/OutputPaths.h"
#include "cs336/Driver/Flags/FlagParsers.h"
#include "llvm/Support/JSON.h"

#include "absl/status/status.h"

#include <vector>

namespace cs336::bench {

/// `--timeline` and `--snapshot`: the memory of one step over time, predicted by `plan` and measured by `model`.
class TimelineFiles {
public:
  TimelineFiles(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  bool areGiven() const { return !timeline.empty() || !snapshot.empty(); }
  /// Checks the flags, before anything is planned. Returns INVALID_ARGUMENT for a timeline that is neither CSV nor
  /// JSON, for a snapshot that is not a pickle by its name, and for files if the number of steps is not 1. Returns
  /// NOT_FOUND if the folder of a file does not exist.
  absl::Status check(size_t numSteps) const;
  /// Returns the flags and their files, for CompileFlags::checkOutputs.
  std::vector<OutputPath> getPaths() const { return {{"--timeline", timeline}, {"--snapshot", snapshot}}; }
  /// Writes the files that the flags name, each completely or not at all. The members of `context` are added to JSON.
  absl::Status write(const MemoryTimeline &memory, llvm::json::Object context) const;

private:
  TextFlag timeline, snapshot;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_TIMELINEFILES_H
