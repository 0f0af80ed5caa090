//===- FitNote.cpp - Whether a plan fits, in words ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/FitNote.h"

#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Support/ByteSize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;

/// Returns the lines below the first one: the changes that would make the row fit.
static std::string describeWays(const PlanRow &row) {
  const WaysToFit &ways = row.waysToFit;
  std::string text;
  if (llvm::all_of(ways.ways, [](const WayToFit &way) { return way.ranks > 1; })) {
    text += "\n";
    if (row.status.ok())
      text += llvm::formatv("parameters and state alone are {0}, and ",
                            formatBytes(row.plan.parameterBytes + row.plan.stateBytes));
    text += "neither a smaller batch, a shorter context, recomputation, fusion nor bfloat16 suffices";
    if (ways.least)
      text += llvm::formatv("\nthe least planned total is {0}: {1}", formatBytes(ways.least->totalBytes),
                            ways.least->flags);
  }
  if (!ways.ways.empty()) {
    text += "\n";
    if (findOption(row.pipeline, "memory-budget"))
      text += "without this memory budget, ";
    text += "any of these would do:";
  }
  double now = row.plan.getSecondsPerToken(row.description);
  for (const WayToFit &way : ways.ways) {
    text += llvm::formatv("\n  {0}  {1}", way.flags, formatBytes(way.totalBytes));
    if (way.ranks > 1)
      text += " per rank";
    if (now > 0)
      text += llvm::formatv(", {0:f2} times the predicted time per token", way.secondsPerToken / now);
  }
  if (ways.leastRecomputation)
    text += llvm::formatv("\nno recomputation would: {0}, the best, needs {1}", ways.leastRecomputation->flags,
                          formatBytes(ways.leastRecomputation->totalBytes));
  if (ways.leastSharding)
    text += llvm::formatv("\nno sharding would: {0}, the best, needs {1} per rank", ways.leastSharding->flags,
                          formatBytes(ways.leastSharding->totalBytes));
  return text;
}

std::string cs336::bench::describeFit(const PlanRow &row) {
  int64_t total = row.plan.getTotalBytes();
  if (row.fits())
    return llvm::formatv("fits: {0}: {1} of {2}, {3} to spare", describePlan(row), formatBytes(total),
                         formatBytes(row.limitBytes), formatBytes(row.limitBytes - total));
  std::string text = llvm::formatv("does not fit: {0}: {1} of {2}, {3} too much", describePlan(row), formatBytes(total),
                                   formatBytes(row.limitBytes), formatBytes(total - row.limitBytes));
  return text + describeWays(row);
}

std::string cs336::bench::describeUnmetBudget(const PlanRow &row) {
  return describePlan(row) + ": " + std::string(row.status.message()) + describeWays(row);
}
