//===- TimelineFile.h - A timeline as CSV or JSON ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMELINE_TIMELINEFILE_H
#define CS336_BENCH_TIMELINE_TIMELINEFILE_H

#include "cs336/Bench/Timeline/MemoryTimeline.h"
#include "llvm/Support/JSON.h"

namespace cs336::bench {

/// Writes a row per command with work: `start_us`, `end_us`, `phase`, `command`, `source`, bytes of each kind that are
/// live during it (`parameter`, `optimizer_state`, …), and their sum `active`.
void writeTimelineCSV(const MemoryTimeline &timeline, llvm::raw_ostream &os);

/// Writes an object: `schema`, the members of `context`, `times` ("predicted" or "measured"), `device` (the model
/// that predicted the times, or where they were measured), `seconds`, `arena_bytes`, `commands` (the rows of the CSV
/// file), and `residents` and `allocations`, each with `bytes`, `kind`, `type`, `source`, `location`; allocations also
/// with `start_us` and `end_us`.
void writeTimelineJSON(const MemoryTimeline &timeline, llvm::json::Object context, llvm::raw_ostream &os);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMELINE_TIMELINEFILE_H
