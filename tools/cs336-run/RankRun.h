//===- RankRun.h - One rank of a run of cs336-run ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_CS336_RUN_RANKRUN_H
#define CS336_TOOLS_CS336_RUN_RANKRUN_H

#include "RunFlags.h"
#include "cs336/Bench/Timing/StepTimer.h"
#include "cs336/Driver/Run/RunProfile.h"
#include "cs336/Driver/Run/TraceFile.h"
#include "cs336/runtime/Session.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cs336 {

/// One rank of a run: reads its inputs, creates a session, runs the steps, prints outputs and writes files. When it is
/// destroyed, it leaves its group.
class RankRun {
public:
  /// Prints to `os`. `communicator` is this rank's end of the group, or null for a run of one rank. The other arguments
  /// must outlive this object.
  RankRun(const RunFlags &flags, std::shared_ptr<const runtime::Executable> executable, const format::EntryT &entry,
          std::shared_ptr<runtime::Communicator> communicator, llvm::raw_ostream &os)
      : flags(flags), executable(std::move(executable)), entry(entry), communicator(std::move(communicator)),
        rank(this->communicator ? this->communicator->rank() : 0), os(os), trace{rank, ToString(getDevice())} {}

  /// Returns the first error.
  absl::Status run();

  /// Returns the trace of the run, if `--trace` asked for one: up to the error, if the run failed.
  std::optional<RankTrace> takeTrace() { return hasTrace ? std::optional(std::move(trace)) : std::nullopt; }

private:
  /// Returns an error if a file that can hold one tensor is to get several.
  absl::Status checkFormats() const;
  absl::Status load();
  /// Creates a session whose variables have the values with which the first step begins.
  absl::StatusOr<std::unique_ptr<runtime::Session>> createSession() const;
  /// Returns whether `parameters` contains the optimizer's state.
  bool hasLoadedState() const;
  absl::Status runSteps();
  /// Runs and prints the steps, and measures their time.
  absl::Status runEachStep(runtime::RunObserver *observer);
  /// Keeps the profile and the trace of the steps that ran. `status` is the error that ended them.
  absl::Status keepProfile(const absl::Status &status);
  /// Prints the profile that was kept, if there is one.
  absl::Status printProfile();
  /// Times steps in a session of their own, to measure the overhead of profiling. Call this before the profiler is
  /// created.
  absl::Status timeUnprofiledSteps();
  std::string describeProfilingOverhead();
  absl::Status save();
  absl::Status printOutputs(int64_t step);
  /// Returns the arguments of --inputs for this rank.
  std::vector<std::string> getInputPaths() const;
  /// Returns the session's number of threads. Ranks share the cores, unless --num-threads is given.
  int getNumThreads() const;
  /// Returns the device of this rank: each rank has a GPU of its own.
  runtime::DeviceId getDevice() const;

  const RunFlags &flags;
  std::shared_ptr<const runtime::Executable> executable;
  const format::EntryT &entry;
  std::shared_ptr<runtime::Communicator> communicator; // Null once the session has it.
  int rank;
  llvm::raw_ostream &os;
  std::unique_ptr<RunProfiler> profiler; // Null without --profile.
  std::unique_ptr<runtime::Session> session;
  runtime::TensorMap inputs;
  runtime::TensorMap parameters; // Those of --params, until the session has them.
  RankTrace trace;
  bool hasTrace = false;
  absl::Duration stepTime; // The time of all steps, by the host's clock.
  std::optional<RunProfile> profile;
  absl::Status profileStatus;       // The error that ended the profiled steps.
  bench::StepTimes profiledTimes;   // The times of the first profiled steps.
  bench::StepTimes unprofiledTimes; // The times of steps without the profiler.
  absl::Status unprofiledStatus;    // The error that ended these steps.
  absl::Status dumpStatus;          // An error if --dump-values matches nothing.
};

} // namespace cs336

#endif // CS336_TOOLS_CS336_RUN_RANKRUN_H
