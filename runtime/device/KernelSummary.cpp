//===- KernelSummary.cpp - Summaries of kernels' runs ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/KernelProfiler.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace cs336::runtime {

namespace {

KernelSummary Summarize(std::string name, std::vector<int64_t> durations) {
  std::sort(durations.begin(), durations.end());
  KernelSummary summary;
  summary.name = std::move(name);
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

std::vector<KernelSummary> SummarizeKernels(absl::Span<const KernelRecord> records) {
  std::map<std::string, std::vector<int64_t>> durations;
  int64_t whole = 0;
  for (const KernelRecord &record : records) {
    durations[record.name].push_back(record.duration_ns);
    whole += record.duration_ns;
  }
  std::vector<KernelSummary> summaries;
  for (auto &[name, values] : durations) {
    summaries.push_back(Summarize(name, std::move(values)));
    if (whole > 0)
      summaries.back().share = static_cast<double>(summaries.back().total) / static_cast<double>(whole);
  }
  std::stable_sort(summaries.begin(), summaries.end(),
                   [](const KernelSummary &a, const KernelSummary &b) { return a.total > b.total; });
  return summaries;
}

} // namespace cs336::runtime
