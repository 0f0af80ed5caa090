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

#include "cs336/Bench/Report/Table.h"

#include <optional>

namespace cs336::bench {

/// Returns a table of the study's published figures beside those of a results document: one row per published figure
/// and row of the document with equal settings. A row of the document has further settings, such as the fusion, which
/// the table shows. Returns nullopt if the document has none of the figures.
std::optional<Table> makePublishedTable(llvm::StringRef study, const llvm::json::Object &document);

} // namespace cs336::bench

#endif // CS336_BENCH_PUBLISHED_PUBLISHEDFIGURES_H
