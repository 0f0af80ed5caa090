//===- AttentionBenchmark.h - Times of attention alone ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONBENCHMARK_H
#define CS336_BENCH_ATTENTION_ATTENTIONBENCHMARK_H

#include "cs336/Bench/Attention/AttentionPeer.h"
#include "cs336/Bench/Attention/AttentionProgram.h"
#include "cs336/Bench/Attention/AttentionResources.h"
#include "cs336/Bench/Attention/AttentionTiling.h"
#include "cs336/Bench/Timing/StepTimer.h"
#include "cs336/Driver/Compile/CompileModule.h"

#include "absl/status/statusor.h"

#include <optional>
#include <utility>
#include <vector>

namespace cs336::bench {

/// The settings of a measurement of attention.
struct AttentionOptions {
  CompileOptions compile;
  Fusion fusion = Fusion::None;
  int64_t warmup = 5, steps = 100;
  /// The device in the syntax of sessions: "cpu", "cuda:0".
  std::string device = "cpu";
  int numThreads = 0;
  uint64_t seed = 0;
  /// 0 stands for all available memory of the device.
  int64_t memoryLimitBytes = 0;
  /// The tile of scores of every attention; nullopt lets schedules choose.
  std::optional<cuda::ScoreTile> tile;
  /// If true, programs are compiled and not run, and the measurement has no times.
  bool compileOnly = false;
  /// If false, commands are launched one by one, and tools record the timed steps.
  bool useGraphs = true;
  /// Null for none.
  AttentionPeer *peer = nullptr;
  /// The measurement of the rung below on a ladder, if it has the same type, or null. Programs that are equal to those
  /// of the rung below are not measured again.
  const struct AttentionMeasurement *below = nullptr;
};

/// Planned memory in bytes. A forward pass alone has only a peak.
struct AttentionMemory {
  /// Queries, keys, values, the gradient of the output, and the results of the forward pass that the backward pass
  /// reads.
  int64_t beforeBackward = 0;
  int64_t forwardPeak = 0, backwardPeak = 0;
};

struct AttentionMeasurement {
  /// OK, or the reason why times are missing: RESOURCE_EXHAUSTED if memory does not suffice, OUT_OF_RANGE if the tile
  /// does not fit into shared memory.
  absl::Status forwardStatus, backwardStatus;
  /// The results of @forward, @loss and @forward_backward; empty if they did not run.
  StepTimes forward, loss, both;
  AttentionMemory memory;
  /// The shared memory that the tile requires in each pass; for a pass that the tile does not fit, a lower bound. Not
  /// set without a tile.
  std::optional<BlockMemory> forwardBlock, backwardBlock;
  /// Zeros on a CPU, and for a pass that is not compiled.
  KernelResources forwardResources, backwardResources;
  /// Commands of each pass: kernels, GEMMs and copies.
  int64_t forwardCommands = 0, backwardCommands = 0;
  double compileSeconds = 0;
  /// Hashes of the executables, of the forward pass and of the others.
  std::pair<uint64_t, uint64_t> programs;
  std::vector<AttentionPeerMeasurement> peers;
};

/// Plans the case without compiling its kernels. Errors are those of the compiler.
absl::StatusOr<AttentionMemory> planAttention(const AttentionCase &attention, const CompileOptions &options);

/// Compiles the case and runs the forward pass, then the loss, and the loss with its gradients, `steps` times each. A
/// lack of memory is part of the measurement; other errors are errors.
absl::StatusOr<AttentionMeasurement> measureAttention(const AttentionCase &attention, const AttentionOptions &options,
                                                      llvm::function_ref<void(llvm::StringRef, double)> report,
                                                      llvm::function_ref<void(llvm::StringRef)> warn);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONBENCHMARK_H
