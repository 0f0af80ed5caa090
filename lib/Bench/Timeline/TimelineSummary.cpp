//===- TimelineSummary.cpp - Sums over a timeline -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/TimelineSummary.h"

#include "cs336/Support/LayerPath.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace cs336;
using namespace cs336::bench;

static PhaseSummary &getPhase(exec::CommandPhase phase, std::vector<PhaseSummary> &phases) {
  for (PhaseSummary &known : phases)
    if (known.phase == phase)
      return known;
  PhaseSummary &added = phases.emplace_back();
  added.phase = phase;
  return added;
}

std::vector<PhaseSummary> cs336::bench::summarizePhases(const MemoryTimeline &timeline) {
  std::vector<PhaseSummary> phases;
  std::vector<int64_t> starting(timeline.commands.size());
  for (const Allocation &allocation : timeline.allocations)
    starting[allocation.first] += allocation.bytes;
  timeline.forEachCommand([&](size_t position, const KindBytes &live) {
    const TimedCommand &command = timeline.commands[position];
    size_t known = phases.size();
    PhaseSummary &phase = getPhase(command.phase, phases);
    phase.work += command.work;
    phase.seconds += command.end - command.start;
    if (!getLayer(command.source).empty())
      phase.inLayers += command.work;
    int64_t total = live.getTotal();
    bool isFirst = phases.size() > known;
    if (isFirst)
      phase.heldBytes = total - starting[position];
    if (!isFirst && total <= phase.liveBytes)
      return;
    phase.liveBytes = total;
    phase.live = live;
    phase.peak = position;
  });
  return phases;
}

const PhaseSummary *cs336::bench::findPeakPhase(llvm::ArrayRef<PhaseSummary> phases) {
  const auto *largest =
      llvm::max_element(phases, [](const auto &a, const auto &b) { return a.liveBytes < b.liveBytes; });
  return largest == phases.end() ? nullptr : largest;
}

std::vector<Allocation> cs336::bench::listLive(const MemoryTimeline &timeline, size_t position) {
  std::vector<Allocation> live = timeline.residents;
  llvm::copy_if(timeline.allocations, std::back_inserter(live), [position](const Allocation &allocation) {
    return allocation.first <= position && position <= allocation.last;
  });
  llvm::stable_sort(live, [](const auto &a, const auto &b) { return a.bytes > b.bytes; });
  return live;
}

CommunicationSummary cs336::bench::summarizeCommunication(const MemoryTimeline &timeline) {
  CommunicationSummary summary;
  // The changes of the numbers of running collectives and of other running commands, in order of time.
  struct Change {
    double time;
    int collectives, others;
  };
  std::vector<Change> changes;
  for (const TimedCommand &command : timeline.commands) {
    int collective = command.isCollective ? 1 : 0, other = 1 - collective;
    changes.push_back({command.start, collective, other});
    changes.push_back({command.end, -collective, -other});
    if (!command.isCollective)
      continue;
    ++summary.collectives;
    summary.wireBytes += command.wireBytes;
    summary.seconds += command.end - command.start;
  }
  llvm::stable_sort(changes, [](const Change &a, const Change &b) { return a.time < b.time; });
  int collectives = 0, others = 0;
  double previous = 0;
  for (const Change &change : changes) {
    if (collectives > 0 && others == 0)
      summary.exposedSeconds += change.time - previous;
    collectives += change.collectives;
    others += change.others;
    previous = change.time;
  }
  return summary;
}

std::vector<CollectiveSummary> cs336::bench::listCollectives(const MemoryTimeline &timeline) {
  std::vector<CollectiveSummary> collectives;
  for (const TimedCommand &command : timeline.commands) {
    if (!command.isCollective)
      continue;
    // Commands are in the order of their starts.
    double exposed = 0, covered = command.start;
    for (const TimedCommand &other : timeline.commands) {
      if (other.isCollective || other.end <= covered || other.start >= command.end || other.end == other.start)
        continue;
      exposed += std::max(0.0, other.start - covered);
      covered = std::min(other.end, command.end);
    }
    collectives.push_back({&command, exposed + command.end - covered});
  }
  return collectives;
}

std::vector<KernelSummary> cs336::bench::summarizeKernels(const MemoryTimeline &timeline) {
  llvm::MapVector<llvm::StringRef, KernelSummary> byName;
  for (const TimedCommand &command : timeline.commands) {
    if (command.work.launches == 0)
      continue;
    KernelSummary &kernel = byName[command.name];
    kernel.name = command.name;
    kernel.work += command.work;
    kernel.runsInLayers += !getLayer(command.source).empty();
  }
  std::vector<KernelSummary> kernels;
  for (auto &[name, kernel] : byName)
    kernels.push_back(std::move(kernel));
  llvm::stable_sort(kernels, [](const auto &a, const auto &b) { return a.work.bytes > b.work.bytes; });
  return kernels;
}

/// Returns the layers in the order of their first command.
static llvm::SetVector<llvm::StringRef> getLayers(const MemoryTimeline &timeline) {
  llvm::SetVector<llvm::StringRef> layers;
  for (const TimedCommand &command : timeline.commands)
    if (llvm::StringRef layer = getLayer(command.source); !layer.empty())
      layers.insert(layer);
  return layers;
}

int64_t cs336::bench::countLayers(const MemoryTimeline &timeline) {
  return static_cast<int64_t>(getLayers(timeline).size());
}

LayerMemory cs336::bench::summarizeMiddleLayer(const MemoryTimeline &timeline) {
  llvm::SetVector<llvm::StringRef> layers = getLayers(timeline);
  LayerMemory memory;
  if (layers.empty())
    return memory;
  memory.layer = layers[layers.size() / 2].str();
  for (const Allocation &allocation : timeline.allocations) {
    if (getLayer(allocation.source) != memory.layer)
      continue;
    if (allocation.kind == MemoryKind::Gradient)
      memory.gradientBytes += allocation.bytes;
    if (allocation.kind != MemoryKind::Activation)
      continue;
    memory.kept.push_back(allocation);
    memory.keptBytes += allocation.bytes;
  }
  return memory;
}
