//===- DDPReport.h - Tables of steps on several ranks -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_DDPREPORT_H
#define CS336_BENCH_DDP_DDPREPORT_H

#include "cs336/Bench/Command/Distribution.h"
#include "cs336/Bench/DDP/DDPBenchmark.h"
#include "cs336/Bench/Report/Column.h"
#include "cs336/Bench/Report/Report.h"
#include "cs336/Driver/Flags/CompileFlags.h"

#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// One model, in one type, distributed in one way over one number of ranks.
struct DDPRow {
  ModelDescription description;
  ComputeType computeType;
  Fusion fusion;
  PipelineVariant pipeline;
  ExchangeVariant exchange = {};
  int ranks = 1;
  DDPMeasurement measurement = {};
  /// The variant of PyTorch that was measured. Empty for this program's own steps.
  std::string peer = "";
};

/// "small, batch 4, context 256, bf16, fusion all, bucket of 25 MiB, 2 ranks".
std::string describeRow(const DDPRow &row);

/// Returns whether both rows train the same model in the same type with the same batch per rank.
bool isSameModel(const DDPRow &a, const DDPRow &b);

/// The comparison of a row's values with those of other rows.
enum class ValueCheck : uint8_t {
  /// All ranks have the same loss and norm, and the first row of as many ranks has them up to the type's tolerance.
  Agree,
  /// Ranks of the row differ.
  RanksDiffer,
  /// The row differs from the first row that has the same model, type and number of ranks.
  ModesDiffer
};

/// Compares the row's values. `rows` contains all rows. Requires a row with a measurement.
ValueCheck checkValues(const DDPRow &row, llvm::ArrayRef<DDPRow> rows);

/// Returns the columns of `rows`, which are all rows. Ratios are only present for rows whose values agree.
std::vector<Column<DDPRow>> getDDPColumns(llvm::ArrayRef<DDPRow> rows);

/// A table with a row for every measurement. If `hasMemory`, also one of planned memory with a row for each of their
/// moments, which JSON always has in its rows.
Report makeDDPReport(llvm::ArrayRef<DDPRow> rows, llvm::json::Object context, bool hasMemory);

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_DDPREPORT_H
