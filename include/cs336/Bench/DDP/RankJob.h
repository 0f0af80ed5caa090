//===- RankJob.h - Work of one rank of a measurement ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_RANKJOB_H
#define CS336_BENCH_DDP_RANKJOB_H

#include "cs336/runtime/GpuExchange.h"
#include "llvm/Support/JSON.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace cs336::bench {

/// The work of every rank of one measurement, which the launcher writes to a file.
struct RankJob {
  /// The folder with the program, "program.cs336x", in which ranks write their results.
  std::string folder;
  /// "cpu", or "cuda" for the GPU with the rank's number.
  std::string device = "cpu";
  int64_t numThreads = 0;
  int64_t seed = 0;
  /// 0 stands for all available memory of the device.
  int64_t memoryLimitBytes = 0;
  int64_t warmup = 5, steps = 10;
  /// Seconds after which a silent rank ends the run.
  double timeoutSeconds = 30;
  /// The way in which ranks on GPUs exchange data.
  runtime::GpuExchange exchange = runtime::GpuExchange::kAuto;
  /// AdamW's coefficient of the first moments, from which the norm of the gradients is computed.
  double beta1 = 0.9;
  /// Run the steps again under a profiler.
  bool profile = true;
  /// Write the trace of the profiled steps, which readRankTrace() reads from the folder.
  bool trace = false;
  /// Write the initial parameters and each rank's batch for a peer.
  bool give = false;

  std::string getProgramPath() const { return folder + "/program.cs336x"; }
  std::string getResultPath(int rank) const { return folder + "/rank-" + std::to_string(rank) + ".json"; }
  std::string getBatchPath(int rank) const { return folder + "/batch-" + std::to_string(rank) + ".npz"; }
  std::string getParametersPath() const { return folder + "/params.safetensors"; }
};

/// Writes the job as JSON to a file.
absl::Status writeRankJob(const RankJob &job, llvm::StringRef path);
/// Reads it. INVALID_ARGUMENT with the path if the file is not a job.
absl::StatusOr<RankJob> readRankJob(llvm::StringRef path);

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_RANKJOB_H
