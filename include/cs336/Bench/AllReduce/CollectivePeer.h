//===- CollectivePeer.h - The same collectives in PyTorch -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ALLREDUCE_COLLECTIVEPEER_H
#define CS336_BENCH_ALLREDUCE_COLLECTIVEPEER_H

#include "cs336/Bench/AllReduce/AllReduceBenchmark.h"
#include "cs336/Bench/Peer/PeerOptions.h"
#include "cs336/Bench/Peer/TorchProcess.h"
#include "llvm/ADT/ArrayRef.h"

namespace cs336::bench {

/// Runs benchmarks/peers/torch_collectives.py, whose variants are "plain" and, on GPUs only, "graph".
class CollectivePeer {
public:
  /// As TorchProcess::start.
  static absl::StatusOr<std::unique_ptr<CollectivePeer>> start(const PeerOptions &options);

  /// As TorchProcess::getFailure.
  const absl::Status &getFailure() const { return process->getFailure(); }
  llvm::ArrayRef<std::string> getVariants() const { return options.variants; }

  /// Returns whether a variant exists for a collective: gloo, which connects CPUs, does not support means,
  /// reduce-scatters and all-to-alls.
  static bool isMeasured(llvm::StringRef variant, const CollectiveCase &one, bool isOnGPU);
  /// Measures the cases on this number of ranks. RESOURCE_EXHAUSTED if memory does not suffice, UNAVAILABLE if the peer
  /// has failed.
  absl::StatusOr<std::vector<AllReduceTimes>> measure(llvm::StringRef variant, llvm::ArrayRef<CollectiveCase> cases,
                                                      int ranks, bool isOnGPU);

private:
  CollectivePeer(PeerOptions options, std::unique_ptr<TorchProcess> process)
      : options(std::move(options)), process(std::move(process)) {}

  PeerOptions options;
  std::unique_ptr<TorchProcess> process;
};

} // namespace cs336::bench

#endif // CS336_BENCH_ALLREDUCE_COLLECTIVEPEER_H
