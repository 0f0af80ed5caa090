//===- Trace.cpp - What a device ran, and when ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Trace.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace cs336::runtime {

TracedCommand::TracedCommand(const CommandInfo &info)
    : index(info.index), stream(info.stream), entry(info.entry), name(info.name), source(info.source),
      layer(info.layer), phase(info.phase), kind(info.kind), location(info.location), flops(info.flops),
      bytes(info.bytes), live_bytes(info.live_bytes), arithmetic(info.arithmetic) {}

const TracedCommand *Trace::FindCommand(const TraceSpan &span) const {
  return span.command == TraceSpan::kNoCommand ? nullptr : &commands[span.command];
}

namespace {

SpanSummary Summarize(std::string key, std::vector<int64_t> durations) {
  std::sort(durations.begin(), durations.end());
  SpanSummary summary;
  summary.key = std::move(key);
  summary.instances = static_cast<int64_t>(durations.size());
  for (int64_t duration : durations)
    summary.total += duration;
  size_t half = durations.size() / 2;
  summary.average = static_cast<double>(summary.total) / static_cast<double>(durations.size());
  summary.median = durations.size() % 2 ? static_cast<double>(durations[half])
                                        : 0.5 * static_cast<double>(durations[half - 1] + durations[half]);
  summary.shortest = durations.front();
  summary.longest = durations.back();
  double squares = 0;
  for (int64_t duration : durations)
    squares += std::pow(static_cast<double>(duration) - summary.average, 2);
  if (durations.size() > 1)
    summary.standard_deviation = std::sqrt(squares / static_cast<double>(durations.size() - 1));
  return summary;
}

} // namespace

std::vector<SpanSummary> SummarizeSpans(const Trace &trace, absl::FunctionRef<std::string(const TraceSpan &)> get_key) {
  std::map<std::string, std::vector<int64_t>> durations;
  int64_t whole = 0;
  for (const TraceSpan &span : trace.spans) {
    durations[get_key(span)].push_back(span.duration_ns);
    whole += span.duration_ns;
  }
  std::vector<SpanSummary> summaries;
  for (auto &[key, values] : durations) {
    summaries.push_back(Summarize(key, std::move(values)));
    if (whole > 0)
      summaries.back().share = static_cast<double>(summaries.back().total) / static_cast<double>(whole);
  }
  std::stable_sort(summaries.begin(), summaries.end(),
                   [](const SpanSummary &a, const SpanSummary &b) { return a.total > b.total; });
  return summaries;
}

} // namespace cs336::runtime
