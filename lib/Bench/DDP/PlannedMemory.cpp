//===- PlannedMemory.cpp - Memory of a rank by kind and moment ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/PlannedMemory.h"

#include <optional>

using namespace cs336;
using namespace cs336::bench;

std::vector<MemoryMoment> cs336::bench::getMemoryMoments(const MemoryTimeline &timeline) {
  KindBytes residents = timeline.getResidentBytes(), peak;
  std::optional<size_t> first, last;
  for (size_t position = 0; position != timeline.commands.size(); ++position) {
    if (timeline.commands[position].phase != exec::CommandPhase::Optimizer)
      continue;
    first = first.value_or(position);
    last = position;
  }
  // A command's live bytes include the allocations that begin or end there, which the moments leave out.
  KindBytes before, after;
  timeline.forEachCommand([&](size_t position, const KindBytes &live) {
    if (live.getTotal() > peak.getTotal())
      peak = live;
    if (position == first)
      before = live;
    if (position == last)
      after = live;
  });
  for (const Allocation &allocation : timeline.allocations) {
    if (allocation.first == first)
      before[allocation.kind] -= allocation.bytes;
    if (allocation.last == last && !allocation.outlivesCommands)
      after[allocation.kind] -= allocation.bytes;
  }
  auto withResidents = [&](KindBytes live) {
    for (MemoryKind kind : getMemoryKinds())
      live[kind] += residents[kind];
    return live;
  };
  std::vector<MemoryMoment> moments{{"initialised", residents}, {"peak", withResidents(peak)}};
  if (first) {
    moments.push_back({"before optimizer", withResidents(before)});
    moments.push_back({"after optimizer", withResidents(after)});
  }
  return moments;
}
