//===- RunProfile.h - Time per kernel or command of runs --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUNPROFILE_H
#define CS336_DRIVER_RUNPROFILE_H

#include "cs336/runtime/KernelProfiler.h"
#include "cs336/runtime/RunObserver.h"
#include "cs336/runtime/Session.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cs336 {

/// The work of CUDA graphs on a GPU: kernels, and the copies and fills that are commands of an entry. Copies of inputs
/// and outputs outside of the graphs are not included.
struct GraphWork {
  int64_t nodes = 0;
  int64_t nanoseconds = 0; // The sum of their durations.
  /// Time within replays of graphs during which no node ran. Each node counts once per replay.
  int64_t idleNanoseconds = 0;
};

GraphWork summarizeGraphWork(llvm::ArrayRef<runtime::KernelRecord> records);

/// `--profile` of the tools. On a GPU: kernels, as they overlap and are replayed in graphs. On the CPU: commands, one
/// after the other.
class RunProfile {
public:
  /// Creates the profile before the session on that device is created. Returns the errors of KernelProfiler::Create.
  static absl::StatusOr<std::unique_ptr<RunProfile>> create(runtime::DeviceId device);
  virtual ~RunProfile();

  /// Returns the observer to pass to the runs, or null.
  virtual runtime::RunObserver *getObserver() = 0;
  /// Call `start` before the runs and `stop` after them, once. `stop` waits for the runs. Until then no other profile
  /// of a GPU can exist.
  virtual absl::Status start(runtime::Session &session) = 0;
  virtual absl::Status stop(runtime::Session &session) = 0;
  /// Returns the work of all runs together, or nullopt on the CPU.
  virtual std::optional<GraphWork> getGraphWork() const = 0;
  /// Prints one row per name, at most `most`, in decreasing order of time, and then the sum of all. The session may be
  /// destroyed.
  virtual void print(llvm::raw_ostream &stream, size_t most = kAll) const = 0;

  static constexpr size_t kAll = std::numeric_limits<size_t>::max();
};

/// Prints the columns of nsys' cuda_gpu_kern_sum, with times in nanoseconds. See RunProfile::print for the rows.
void printKernels(llvm::ArrayRef<runtime::KernelSummary> kernels, llvm::raw_ostream &stream,
                  size_t most = RunProfile::kAll);

/// All runs of the commands with one name in one phase. Equal kernels of all layers share a name.
struct CommandSummary {
  std::string phase, name;
  absl::Duration total;
  int64_t runs = 0;
};

/// Returns the summaries in decreasing order of time.
std::vector<CommandSummary> summarizeCommands(const runtime::CommandProfile &profile);

/// Prints per summary: the share of the whole, total and mean milliseconds, and the number of runs. See
/// RunProfile::print for the rows.
void printCommands(llvm::ArrayRef<CommandSummary> commands, llvm::raw_ostream &stream, size_t most = RunProfile::kAll);

} // namespace cs336

#endif // CS336_DRIVER_RUNPROFILE_H
