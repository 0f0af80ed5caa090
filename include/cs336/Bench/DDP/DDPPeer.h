//===- DDPPeer.h - The same steps on several ranks in PyTorch ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_DDPPEER_H
#define CS336_BENCH_DDP_DDPPEER_H

#include "cs336/Bench/DDP/DDPBenchmark.h"
#include "cs336/Bench/Peer/PeerOptions.h"
#include "cs336/Bench/Peer/TorchProcess.h"
#include "cs336/Pipelines/Pipelines.h"

namespace cs336::bench {

/// Runs benchmarks/peers/torch_parallel.py, whose variants are "ddp", "ddp-compile", "graphs-flat", "graphs-flat-bf16",
/// "zero" and "fsdp".
class DDPPeer {
public:
  /// As TorchProcess::start.
  static absl::StatusOr<std::unique_ptr<DDPPeer>> start(const PeerOptions &options);

  /// As TorchProcess::getFailure.
  const absl::Status &getFailure() const { return process->getFailure(); }
  llvm::ArrayRef<std::string> getVariants() const { return options.variants; }

  /// Trains the model from the parameters and batches that the ranks of `job` wrote. The compilation time of the result
  /// is the time of the first step, in which torch.compile compiles. A lack of memory and a peer that has failed are
  /// the measurement's status; other errors are errors.
  absl::StatusOr<DDPMeasurement> measure(llvm::StringRef variant, const ModelDescription &description, ComputeType type,
                                         int ranks, const RankJob &job);

private:
  DDPPeer(PeerOptions options, std::unique_ptr<TorchProcess> process)
      : options(std::move(options)), process(std::move(process)) {}

  PeerOptions options;
  std::unique_ptr<TorchProcess> process;
};

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_DDPPEER_H
