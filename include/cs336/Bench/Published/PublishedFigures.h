//===- PublishedFigures.h - Figures of published write-ups ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// benchmarks/published.json contains figures that write-ups of the assignment have published, with their source and
// hardware. The tool embeds it.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PUBLISHED_PUBLISHEDFIGURES_H
#define CS336_BENCH_PUBLISHED_PUBLISHEDFIGURES_H

#include "cs336/Bench/Report/Report.h"

#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// Returns the names of the studies that have published figures, each once.
std::vector<std::string> getPublishedStudies();

/// Returns a table of the study's published figures beside the results of a report: one row per published figure and
/// row of the results with equal settings. A row of the results has further settings, such as the fusion, which the
/// table shows. Returns nullopt if the results have none of the figures.
std::optional<Table> makePublishedTable(llvm::StringRef study, const Report &report);

} // namespace cs336::bench

#endif // CS336_BENCH_PUBLISHED_PUBLISHEDFIGURES_H
