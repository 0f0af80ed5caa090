//===- TraceSteps.cpp - The steps of a trace ------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/TraceSteps.h"

#include <algorithm>
#include <utility>

using namespace cs336;
using namespace cs336::bench;

void CommandInterval::add(const runtime::TraceSpan &span) {
  start = std::min(start, span.start_ns);
  end = std::max(end, span.start_ns + span.duration_ns);
}

std::vector<TraceStep> cs336::bench::splitIntoSteps(const runtime::Trace &trace, llvm::StringRef entry) {
  // The n-th run of a command, or of a node of its graph, belongs to the n-th step.
  std::map<std::pair<int32_t, uint64_t>, size_t> runs;
  std::vector<TraceStep> steps;
  for (const runtime::TraceSpan &span : trace.spans) {
    const runtime::TracedCommand *command = trace.FindCommand(span);
    if (!command || command->entry != entry)
      continue;
    size_t step = runs[{span.command, span.graph_node}]++;
    if (step == steps.size())
      steps.emplace_back();
    steps[step][static_cast<size_t>(command->index)].add(span);
  }
  return steps;
}

int64_t cs336::bench::getBegin(const TraceStep &step) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  for (const auto &[position, interval] : step)
    begin = std::min(begin, interval.start);
  return begin;
}
