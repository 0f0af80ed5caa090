//===- GatherWaits.h - Waits of computation for gathers ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_GATHERWAITS_H
#define CS336_BENCH_DDP_GATHERWAITS_H

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Trace.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cs336::bench {

/// The gathers of one rank that did not end in time, summed over steps.
struct GatherWaits {
  int64_t late = 0;
  /// The time in which computation waited for gathers, in nanoseconds. It includes the time in which a gather itself
  /// waits for another rank or for an earlier collective of its stream.
  int64_t waited = 0;

  bool operator==(const GatherWaits &) const = default;
  /// Adds the waits of later steps.
  GatherWaits &operator+=(const GatherWaits &other);
};

/// The all-gathers of an entry, and the commands that wait for them.
///
/// A trace has no spans of waits, so the commands of the entry determine which command waits: the first command of
/// another phase than "communication" that the order of its stream, or events, place after the gather. Computation runs
/// in the order of the entry. It waits from the end of the commands before the waiting one, or from the start of the
/// step if there are none, until the gather ends. A gather is late if this takes longer than `kLaunchNanoseconds`. If
/// several gathers end late for one command, their time counts once. If no command of the step waits for a gather, the
/// end of the step does.
class GatherUses {
public:
  explicit GatherUses(const format::EntryT &entry);

  /// Returns the waits of all steps of the entry in a trace of one rank. The trace must have whole steps. Gathers
  /// without spans do not count.
  GatherWaits measure(const runtime::Trace &trace) const;

private:
  std::string name;
  /// By position in the entry.
  std::vector<bool> isComputation;
  /// The gathers that each command waits for, by position in the entry. The last element is the end of the step.
  std::vector<std::vector<size_t>> gathers;
};

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_GATHERWAITS_H
