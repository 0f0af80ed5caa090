//===- TimelineSummary.h - Sums over a timeline -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMELINE_TIMELINESUMMARY_H
#define CS336_BENCH_TIMELINE_TIMELINESUMMARY_H

#include "cs336/Bench/Timeline/MemoryTimeline.h"

namespace cs336::bench {

/// The commands of one phase, and the largest sum of live allocations during one of them.
struct PhaseSummary {
  exec::CommandPhase phase;
  exec::Work work;
  /// The part of `work` that belongs to layers (see `getLayer()`).
  exec::Work inLayers;
  int64_t liveBytes = 0;
  /// Bytes of earlier phases' allocations that are live when the first command of this phase starts.
  int64_t heldBytes = 0;
  /// The parts of `liveBytes` by kind, and the first command during which so many bytes are live.
  KindBytes live = {};
  size_t peak = 0;
  /// The predicted seconds of its commands, one after the other.
  double seconds = 0;
};

/// The launches of one kernel.
struct KernelSummary {
  std::string name;
  exec::Work work;
  int64_t runsInLayers = 0;
};

/// The collectives of an entry.
struct CommunicationSummary {
  int64_t collectives = 0;
  /// The bytes that each rank sends.
  int64_t wireBytes = 0;
  /// Predicted seconds of all collectives, and those during which no other command runs.
  double seconds = 0, exposedSeconds = 0;
};

CommunicationSummary summarizeCommunication(const MemoryTimeline &timeline);

/// One collective of an entry.
struct CollectiveSummary {
  const TimedCommand *command;
  /// Predicted seconds during which it runs, and no command other than collectives runs.
  double exposedSeconds;
};

/// Returns the collectives in order. They refer to the timeline.
std::vector<CollectiveSummary> listCollectives(const MemoryTimeline &timeline);

/// Returns the phases with commands, in the order of their first command.
std::vector<PhaseSummary> summarizePhases(const MemoryTimeline &timeline);

/// Returns the phase whose peak is the largest, or null without commands.
const PhaseSummary *findPeakPhase(llvm::ArrayRef<PhaseSummary> phases);

/// Returns the variables, inputs and allocations that are live during the command at that position, the largest first.
std::vector<Allocation> listLive(const MemoryTimeline &timeline, size_t position);

/// Returns the kernels in decreasing order of bytes.
std::vector<KernelSummary> summarizeKernels(const MemoryTimeline &timeline);

/// Returns the number of layers that commands belong to.
int64_t countLayers(const MemoryTimeline &timeline);

/// The memory that one layer keeps for the backward pass.
struct LayerMemory {
  /// "layers.6"; empty if the model has no layers.
  std::string layer;
  /// Its activations, in decreasing order of size.
  std::vector<Allocation> kept;
  /// Bytes of the activations, and of the gradients of its parameters.
  int64_t keptBytes = 0, gradientBytes = 0;
};

/// Returns the memory of the middle layer. The first and the last layer would not be typical: they share buffers with
/// the embedding and the head.
LayerMemory summarizeMiddleLayer(const MemoryTimeline &timeline);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMELINE_TIMELINESUMMARY_H
