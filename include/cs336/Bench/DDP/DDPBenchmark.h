//===- DDPBenchmark.h - Times of steps on several ranks ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_DDPBENCHMARK_H
#define CS336_BENCH_DDP_DDPBENCHMARK_H

#include "cs336/Bench/DDP/Exchange.h"
#include "cs336/Bench/DDP/RankJob.h"
#include "cs336/Bench/DDP/RankResult.h"
#include "cs336/Bench/Plan/ModelPlan.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Driver/Run/TraceFile.h"
#include "cs336/Frontend/ModelDescription.h"
#include "cs336/Support/JobFolder.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// The steps of one program on one number of ranks.
struct DDPMeasurement {
  /// OK, or the reason why times are missing: RESOURCE_EXHAUSTED if memory does not suffice on a rank.
  absl::Status status;
  /// The longest time of each step among the ranks, by the host's clock and by the GPU's.
  std::vector<double> stepMilliseconds, deviceMilliseconds;
  /// The mean over ranks of the first step's loss and the norm of its gradients. Ranks agree, so the mean is the value
  /// of each.
  double loss = 0, gradNorm = 0;
  /// The same of the last step's loss. Absent for PyTorch, which does not return it.
  std::optional<double> lastLoss;
  /// The largest difference between ranks, among the first loss, the last loss and the norm.
  double spread = 0;
  /// The time from the description to the executable, which is compiled or found in the cache.
  double compileSeconds = 0;
  /// The longest times among ranks. Absent for PyTorch, whose first call includes them.
  std::optional<double> joinSeconds, loadSeconds;
  /// The largest memory of any rank, as the GPU reports it.
  std::optional<int64_t> deviceMemoryBytes;
  Exchange exchange;
  /// Per profiled step, the mean over ranks, in milliseconds. Absent without a profile.
  struct Times {
    double communication = 0, compute = 0;
    /// The exposed communication of the rank with the least, and how much more the mean over ranks is.
    double exposed = 0, imbalance = 0;
    /// The time in which computation waits for gathers, and the number of gathers that it waits for.
    double gatherWait = 0, lateGathers = 0;
    /// The mean time of a profiled step.
    double step = 0;
  };
  std::optional<Times> times;
  std::string profileNote;
  /// The plan of one rank.
  std::optional<ModelPlan> plan;
};

/// Merges what ranks measured.
void mergeResults(llvm::ArrayRef<RankResult> results, DDPMeasurement &measurement);

/// The settings that all measurements of a sweep share.
struct DDPOptions {
  /// Without a folder.
  RankJob job;
  /// The path of this program.
  std::string program;
};

/// A group of processes that measures one program.
class DDPBenchmark {
public:
  /// Creates a temporary folder for the job. UNAVAILABLE if that is not possible.
  static absl::StatusOr<std::unique_ptr<DDPBenchmark>> create(DDPOptions options);

  /// Sets whether ranks write their parameters and batches, which a peer reads.
  void setGive(bool give) { options.job.give = give; }

  /// Compiles the model, once for all ranks, plans its memory, starts the ranks, and waits for them. Failures are the
  /// measurement's status, including CANCELLED if a signal ended the ranks. `report` is called with each stage.
  DDPMeasurement measure(const ModelDescription &description, const CompileOptions &compile, int ranks,
                         llvm::function_ref<void(llvm::StringRef)> report,
                         llvm::function_ref<void(llvm::StringRef)> warn);

  /// The last measurement's settings and folder, with the files of the last one that gave them.
  const RankJob &getJob() const { return options.job; }
  /// Takes the traces of the last measurement's ranks.
  std::vector<RankTrace> takeTraces() { return std::move(traces); }

private:
  DDPBenchmark(DDPOptions options, std::unique_ptr<JobFolder> folder)
      : options(std::move(options)), folder(std::move(folder)) {}

  absl::Status compile(const ModelDescription &description, const CompileOptions &compile,
                       llvm::function_ref<void(llvm::StringRef)> warn, DDPMeasurement &measurement);
  absl::Status launch(int ranks) const;

  DDPOptions options;
  std::unique_ptr<JobFolder> folder;
  std::vector<RankTrace> traces;
};

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_DDPBENCHMARK_H
