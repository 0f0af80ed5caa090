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
#include "llvm/Support/raw_ostream.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cs336 {

/// What CUDA graphs ran on a GPU: kernels, and the copies and fills that are commands of an entry. The feeding of
/// inputs and the reading of outputs around a graph are not part of it.
struct GraphWork {
  int64_t nodes = 0;
  int64_t nanoseconds = 0; // The sum of their durations.
  /// Within replays of graphs, when none of them ran. Each node is in a replay once.
  int64_t idleNanoseconds = 0;
};

GraphWork summarizeGraphWork(llvm::ArrayRef<runtime::KernelRecord> records);

/// `--profile` of the tools: kernels on a GPU, as they overlap and are replayed in graphs; commands, one after the
/// other, on the CPU.
class RunProfile {
public:
  /// Before the session on that device is created. Errors as KernelProfiler::Create.
  static absl::StatusOr<std::unique_ptr<RunProfile>> create(runtime::DeviceId device);
  virtual ~RunProfile();

  /// What the runs have to be given, or null.
  virtual runtime::RunObserver *getObserver() = 0;
  /// Around the runs, once; `stop` waits for them. Until then there can be no other profile of a GPU.
  virtual absl::Status start(runtime::Session &session) = 0;
  virtual absl::Status stop(runtime::Session &session) = 0;
  /// Of all runs together; nothing on the CPU.
  virtual std::optional<GraphWork> getGraphWork() const = 0;
  /// A row for each name, the most time first, and as many as that; then the sum of all. The session may be gone.
  virtual void print(llvm::raw_ostream &stream, size_t most = kAll) const = 0;

  static constexpr size_t kAll = std::numeric_limits<size_t>::max();
};

/// The columns of nsys' cuda_gpu_kern_sum; times in nanoseconds. As RunProfile::print.
void printKernels(llvm::ArrayRef<runtime::KernelSummary> kernels, llvm::raw_ostream &stream,
                  size_t most = RunProfile::kAll);

/// All runs of the commands of one name in one phase; equal kernels of all layers share one.
struct CommandSummary {
  std::string phase, name;
  absl::Duration total;
  int64_t runs = 0;
};

/// The most time first.
std::vector<CommandSummary> summarizeCommands(const runtime::CommandProfile &profile);

/// A row for each: share of the whole, total and mean milliseconds, and how often it ran. As RunProfile::print.
void printCommands(llvm::ArrayRef<CommandSummary> commands, llvm::raw_ostream &stream, size_t most = RunProfile::kAll);

} // namespace cs336

#endif // CS336_DRIVER_RUN_RUNPROFILE_H
