//===- RunProfile.h - Where the time of runs goes ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_RUNPROFILE_H
#define CS336_DRIVER_RUN_RUNPROFILE_H

#include "cs336/runtime/KernelProfiler.h"
#include "cs336/runtime/RunObserver.h"
#include "cs336/runtime/Session.h"
#include "llvm/ADT/ArrayRef.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cs336 {

/// The work of CUDA graphs on a GPU: kernels, and the copies and fills that are commands of an entry. The feeding of
/// inputs and the reading of outputs around a graph are not part of it.
struct GraphWork {
  int64_t nodes = 0;
  int64_t nanoseconds = 0; // The sum of their durations.
  /// Within replays of graphs, when none of them ran. Each node is in a replay once.
  int64_t idleNanoseconds = 0;
};

GraphWork summarizeGraphWork(llvm::ArrayRef<runtime::KernelRecord> records);

/// All runs of the commands of one name in one phase; equal kernels of all layers share one.
struct CommandSummary {
  std::string phase, name;
  absl::Duration total;
  int64_t runs = 0;
};

/// The most time first.
std::vector<CommandSummary> summarizeCommands(const runtime::CommandProfile &profile);

/// The times of the parts of runs, longest first.
struct RunProfile {
  /// All runs of one name, on either device. Kernels have no phase.
  struct Row {
    std::string phase, name;
    int64_t runs;
    double seconds;
  };

  /// On the CPU: commands, one after the other.
  std::vector<CommandSummary> commands;
  /// On a GPU: kernels, copies and fills, as they overlap and are replayed in graphs.
  std::vector<runtime::KernelSummary> kernels;
  /// On a GPU: the graphs of all runs together.
  std::optional<GraphWork> graphWork;

  std::vector<Row> getRows() const;
};

/// Records a RunProfile: `--profile` of the tools, and profile() of a session in Python.
class RunProfiler {
public:
  /// Call before the session on that device is created. Errors as KernelProfiler::Create.
  static absl::StatusOr<std::unique_ptr<RunProfiler>> create(runtime::DeviceId device);
  virtual ~RunProfiler();

  /// The observer that the runs must be given, or null.
  virtual runtime::RunObserver *getObserver() = 0;
  /// Call around the runs; `stop` waits for them. May be repeated: each profile begins at its own `start`. While a
  /// profiler of a GPU exists there can be no other.
  virtual absl::Status start(runtime::Session &session) = 0;
  virtual absl::StatusOr<RunProfile> stop(runtime::Session &session) = 0;
};

} // namespace cs336

#endif // CS336_DRIVER_RUN_RUNPROFILE_H
