//===- AllReduceBenchmark.h - Times of collectives --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ALLREDUCE_ALLREDUCEBENCHMARK_H
#define CS336_BENCH_ALLREDUCE_ALLREDUCEBENCHMARK_H

#include "cs336/Bench/AllReduce/Collective.h"
#include "cs336/runtime/GpuExchange.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cs336::bench {

/// The way in which ranks exchange data.
enum class Backend : uint8_t { Tcp, Threads, GPU, NCCL, Peers };
/// Returns whether ranks are processes with a GPU each.
inline bool isOnGPUs(Backend backend) {
  return backend == Backend::GPU || backend == Backend::NCCL || backend == Backend::Peers;
}
/// Returns the option of sessions that selects the backend.
runtime::GpuExchange getExchange(Backend backend);

/// The collectives that every group measures.
struct AllReducePlan {
  std::vector<Collective> collectives;
  /// Bytes of all parts, each rounded down to whole elements per rank.
  std::vector<int64_t> sizes;
  std::vector<runtime::DType> dtypes;
  std::vector<runtime::Reduction> reductions;
  int64_t warmup, steps;
};

/// The results of one case.
struct AllReduceTimes {
  CollectiveCase one;
  /// Milliseconds per collective, for each step, by the device's clock on rank 0.
  std::vector<double> milliseconds;
  /// Elements with a wrong value, over all ranks.
  int64_t wrong = 0;
  /// RESOURCE_EXHAUSTED if a rank has too little memory for the case, which then has no times; otherwise OK.
  absl::Status status = absl::OkStatus();
};

/// Takes the results of a case as soon as it is measured, and the milliseconds of creating the first session.
using CollectiveReport = llvm::function_ref<absl::Status(AllReduceTimes times, double startup)>;

/// Runs the plan as one rank. As in training steps, compiled programs run the collectives, on variables in the device's
/// memory. `device` is "cpu", or the GPU of this rank, and `exchange` is the way in which GPUs exchange data. All ranks
/// of the group call it. Cases whose blocks do not fit into memory have that status; the others are measured. An error
/// of `report` ends the measurement, and the group.
absl::Status measureCollectives(std::shared_ptr<runtime::Communicator> communicator, const std::string &device,
                                runtime::GpuExchange exchange, const AllReducePlan &plan, CollectiveReport report);

/// Runs the plan on threads of this process, and returns the results of rank 0. `startup` gets the milliseconds until
/// the group and its sessions exist.
absl::StatusOr<std::vector<AllReduceTimes>> measureOnThreads(int ranks, absl::Duration timeout,
                                                             const AllReducePlan &plan, double &startup);

} // namespace cs336::bench

#endif // CS336_BENCH_ALLREDUCE_ALLREDUCEBENCHMARK_H
