//===- GatherWaits.cpp - Waits of computation for gathers -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/GatherWaits.h"

#include "cs336/Bench/DDP/Overlap.h"
#include "cs336/Bench/Profile/TraceSteps.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace cs336;
using namespace cs336::bench;

GatherWaits &GatherWaits::operator+=(const GatherWaits &other) {
  late += other.late;
  waited += other.waited;
  return *this;
}

namespace {
/// The number of commands per stream that have ended.
using StreamClock = std::vector<size_t>;

/// A gather that no command waits for so far.
struct PendingGather {
  size_t position;
  uint32_t stream;
  size_t rank; // Among the commands of the stream.
};
} // namespace

GatherUses::GatherUses(const format::EntryT &entry)
    : name(entry.name), isComputation(entry.commands.size()), gathers(entry.commands.size() + 1) {
  std::vector<StreamClock> now(entry.streams, StreamClock(entry.streams)), recorded(entry.events);
  std::vector<PendingGather> pending;
  for (auto [position, command] : llvm::enumerate(entry.commands)) {
    StreamClock &clock = now[command->stream];
    const format::RecordT *record = command->body.AsRecord();
    const format::WaitT *wait = command->body.AsWait();
    if (wait)
      for (auto [ended, other] : llvm::zip(clock, recorded[wait->event]))
        ended = std::max(ended, other);
    isComputation[position] = command->phase != format::Phase::communication && !record && !wait;
    if (isComputation[position])
      llvm::erase_if(pending, [&, &waiting = gathers[position]](const PendingGather &gather) {
        bool waits = clock[gather.stream] > gather.rank;
        if (waits)
          waiting.push_back(gather.position);
        return waits;
      });
    const format::CollectiveT *collective = command->body.AsCollective();
    if (collective && collective->kind == format::CollectiveKind::all_gather)
      pending.push_back({position, command->stream, clock[command->stream]});
    ++clock[command->stream];
    if (record)
      recorded[record->event] = clock;
  }
  for (const PendingGather &gather : pending)
    gathers.back().push_back(gather.position);
}

GatherWaits GatherUses::measure(const runtime::Trace &trace) const {
  GatherWaits waits;
  for (const TraceStep &step : splitIntoSteps(trace, name)) {
    int64_t computed = getBegin(step);
    for (auto [position, awaited] : llvm::enumerate(gathers)) {
      int64_t longest = 0;
      for (size_t gather : awaited) {
        auto found = step.find(gather);
        int64_t wait = found == step.end() ? 0 : found->second.end - computed;
        waits.late += wait > kLaunchNanoseconds;
        longest = std::max(longest, wait);
      }
      waits.waited += longest;
      auto found = step.find(position);
      if (found != step.end() && isComputation[position])
        computed = std::max(computed, found->second.end);
    }
  }
  return waits;
}
