//===- RunProfile.h - Where the time of runs goes ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_RUNPROFILE_H
#define CS336_DRIVER_RUN_RUNPROFILE_H

#include "cs336/Driver/Run/ProfileKey.h"
#include "cs336/runtime/KernelProfiler.h"
#include "cs336/runtime/RunObserver.h"
#include "cs336/runtime/Session.h"
#include "cs336/runtime/Trace.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cs336 {

/// The work of CUDA graphs on a GPU: kernels, and the copies and fills that are commands of an entry. The feeding of
/// inputs and the reading of outputs around a graph are not part of it.
struct GraphWork {
  int64_t nodes = 0;
  int64_t nanoseconds = 0; // The sum of their durations.
  /// The time within replays of graphs in which no node ran. Each node is in a replay once.
  int64_t idleNanoseconds = 0;
  /// The sum over replays, each from the start of its first node to the end of its last.
  int64_t rangeNanoseconds = 0;
};

GraphWork summarizeGraphWork(const runtime::Trace &trace);

/// The times of the parts of runs.
struct RunProfile {
  /// All spans with one key in one phase. Work that belongs to no command has no phase.
  struct Row {
    std::string phase, name;
    runtime::SpanSummary times;
    /// The names of the commands that ran it: "gemm_w13". Only for ProfileKey::Kernel.
    std::set<std::string> commands = {};
  };

  /// On the CPU: commands, one after the other. On a GPU: kernels, copies and fills as they ran in graphs, where they
  /// may overlap; without CUPTI, commands as on the CPU.
  runtime::Trace trace;
  /// On a GPU: the graphs of all runs together.
  std::optional<GraphWork> graphWork;
  /// The reason why a GPU's commands were timed, and not its kernels. Empty otherwise.
  std::string note;

  /// Returns one row per key and phase, in decreasing order of time.
  std::vector<Row> getRows(ProfileKey key) const;
};

/// Records a RunProfile: `--profile` of the tools, and profile() of a session in Python.
class RunProfiler {
public:
  /// Call before the session on that device is created. If CUPTI is missing, reserved for administrators, or used by
  /// another tool, commands are timed with events instead. Returns NOT_FOUND if there is no such device, ALREADY_EXISTS
  /// if the process has a profiler of kernels.
  static absl::StatusOr<std::unique_ptr<RunProfiler>> create(runtime::DeviceId device);
  /// Records the graphs of a GPU with `profiler`, which must be older than the sessions to profile.
  static std::unique_ptr<RunProfiler> create(std::unique_ptr<runtime::KernelProfiler> profiler);
  virtual ~RunProfiler();

  /// The observer that the runs must be given, or null.
  virtual runtime::RunObserver *getObserver() = 0;
  /// Call around the runs; `stop` waits for them. May be repeated: each profile begins at the last `start` before its
  /// `stop`. Between the two, a GPU begins a run only when all of it is enqueued (Session::GateRuns). Runs after a
  /// `stop` take as long as without a profiler. While a profiler of a GPU exists, another one cannot be created.
  virtual absl::Status start(runtime::Session &session) = 0;
  virtual absl::StatusOr<RunProfile> stop(runtime::Session &session) = 0;
};

} // namespace cs336

#endif // CS336_DRIVER_RUN_RUNPROFILE_H
