//===- RunProfile.h - Where the time of runs goes ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_RUNPROFILE_H
#define CS336_DRIVER_RUN_RUNPROFILE_H

#include "cs336/Driver/Run/DurationStatistics.h"
#include "cs336/Driver/Run/ProfileKey.h"
#include "cs336/runtime/KernelProfiler.h"
#include "cs336/runtime/RunObserver.h"
#include "cs336/runtime/Session.h"
#include "cs336/runtime/Trace.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
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

  /// Adds the work of later graphs.
  GraphWork &operator+=(const GraphWork &other);
};

GraphWork summarizeGraphWork(const runtime::Trace &trace);

/// The times of the parts of runs. On the CPU: commands, one after the other. On a GPU: kernels, copies and fills as
/// they ran in graphs, where they may overlap; without CUPTI, commands as on the CPU. The memory depends on the
/// program, and not on the number of runs.
class RunProfile {
public:
  /// All spans of one kernel (on the CPU: command), of one command and of one node of a graph.
  struct Group {
    uint32_t name = 0;
    int32_t command = runtime::TraceSpan::kNoCommand;
    uint64_t graphNode = 0;
    DurationStatistics times = {};
  };

  /// All spans with one key in one phase. Work that belongs to no command has no phase.
  struct Row {
    std::string phase, name;
    /// The share of the total time of all spans.
    double share = 0;
    DurationStatistics times = {};
    /// The names of the commands that ran it: "gemm_w13". Only for ProfileKey::Kernel.
    std::set<std::string> commands = {};
  };

  /// Adds a part of a trace: complete runs, after those of earlier parts. The commands and names of earlier parts have
  /// the same positions in this part.
  void add(const runtime::Trace &part);

  const std::vector<runtime::TracedCommand> &getCommands() const { return commands; }
  /// Returns the groups in the order of their first spans.
  llvm::ArrayRef<Group> getGroups() const { return groups; }
  /// Returns the group's command, or null.
  const runtime::TracedCommand *findCommand(const Group &group) const;
  llvm::StringRef getName(const Group &group) const { return names[group.name]; }

  /// Returns the number of spans, and the sum of their durations.
  int64_t getInstances() const;
  int64_t getNanoseconds() const;
  bool isEmpty() const { return groups.empty(); }
  /// Returns whether the medians of some rows are estimates.
  bool hasEstimatedMedians() const;

  /// Returns one row per key and phase, in decreasing order of time.
  std::vector<Row> getRows(ProfileKey key) const;
  /// Returns the number of times that a range (see `getRangePath`) was entered from another one.
  int64_t getRangeInstances(llvm::StringRef path) const { return entered.lookup(path); }

  /// On a GPU: the graphs of all runs together.
  std::optional<GraphWork> graphWork;
  /// The reason why a GPU's commands were timed, and not its kernels. Empty otherwise.
  std::string note;

private:
  std::vector<runtime::TracedCommand> commands;
  std::vector<std::string> names;
  std::vector<Group> groups;
  std::map<std::tuple<uint32_t, int32_t, uint64_t>, size_t> positions; // In groups, by name, command and node.
  std::vector<std::string> paths;                                      // The range of each command.
  llvm::StringMap<int64_t> entered;
  std::string lastPath;
};

/// Records a RunProfile: `--profile` of the tools, and profile() of a session in Python.
class RunProfiler {
public:
  /// Receives a trace in parts, as RunProfile::add does.
  using Consumer = std::function<void(const runtime::Trace &)>;
  /// The number of spans from which `collect` adds a part to the profile.
  static constexpr int64_t kPartSpans = 1 << 18;

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
  /// `stop` are not recorded, but a GPU's can take longer than without a profiler. While a profiler of a GPU exists,
  /// another one cannot be created. `consumer`, if there is one, receives all spans of the profile.
  absl::Status start(runtime::Session &session, Consumer consumer = nullptr);
  absl::StatusOr<RunProfile> stop(runtime::Session &session);
  /// Call between runs, so that the memory does not grow with their number. If many spans were recorded, waits for the
  /// runs and adds the spans to the profile.
  absl::Status collect(runtime::Session &session);

private:
  /// Returns a profile without spans.
  virtual RunProfile makeProfile() const = 0;
  virtual absl::Status begin(runtime::Session &session) = 0;
  virtual int64_t countSpans() const = 0;
  /// Returns the spans since `begin` or the last `take`. After `end`, no more spans are recorded.
  virtual absl::StatusOr<runtime::Trace> take(runtime::Session &session) = 0;
  virtual absl::StatusOr<runtime::Trace> end(runtime::Session &session) = 0;

  void add(const runtime::Trace &part);

  RunProfile profile;
  Consumer consumer;
};

} // namespace cs336

#endif // CS336_DRIVER_RUN_RUNPROFILE_H
