//===- ModelColumns.h - Settings that reports of models have ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_MODELCOLUMNS_H
#define CS336_BENCH_COMMAND_MODELCOLUMNS_H

#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Report/Column.h"
#include "cs336/Frontend/ModelDescription.h"

#include <vector>

namespace cs336::bench {

/// Returns the columns of the requested settings. A row has a `description`, a `computeType`, a `fusion` and a
/// `pipeline`.
template <typename Row>
std::vector<Column<Row>> getModelSettings() {
  auto config = [](const Row &row) -> const TransformerConfig & { return row.description.transformer; };
  auto getSize = [config](int64_t TransformerConfig::*member) {
    return [config, member](const Row &row) { return Cell::integer(config(row).*member); };
  };
  return {
      {"size", "size", [config](const Row &row) { return Cell(describeSize(config(row))); }, Show::Setting},
      {"params (M)", "parameters_millions",
       [config](const Row &row) { return Cell::number(static_cast<double>(config(row).getParameterCount()) / 1e6, 3); },
       Show::Setting},
      {"batch", "batch_size", getSize(&TransformerConfig::batchSize), Show::Setting},
      {"context", "context_length", getSize(&TransformerConfig::contextLength), Show::Setting},
      {"built in", "build_dtype",
       [](const Row &row) { return Cell(llvm::StringRef(row.description.dtype == BuildType::F64 ? "f64" : "f32")); },
       Show::Setting},
      {"dtype", "dtype", [](const Row &row) { return Cell(stringifyComputeType(row.computeType)); }, Show::Setting},
      {"fusion", "fusion", [](const Row &row) { return Cell(stringifyFusion(row.fusion)); }, Show::Setting},
      {"ladder", "ladder", [](const Row &row) { return Cell::optional(row.pipeline.ladder); }, Show::OnRequest,
       Role::Setting},
      {"added", "added", [](const Row &row) { return Cell::optional(row.pipeline.added); }, Show::Setting},
      {"mode", "mode", [](const Row &row) { return Cell(stringifyMode(row.description.mode)); }, Show::Setting},
      {"layers per block", "checkpoint", [](const Row &row) { return makeCheckpoint(row.pipeline); }, Show::Setting},
      {"memory budget", "memory_budget",
       [](const Row &row) { return Cell::optional(findOption(row.pipeline, "memory-budget").value_or("")); },
       Show::Setting}};
}

/// Returns the columns of the hyper-parameters that a named size sets. A row has a `description`.
template <typename Row>
std::vector<Column<Row>> getModelShape() {
  auto getSize = [](int64_t TransformerConfig::*member) {
    return [member](const Row &row) { return Cell::integer(row.description.transformer.*member); };
  };
  return {{"d_model", "d_model", getSize(&TransformerConfig::dModel), Show::OnRequest, Role::Setting},
          {"d_ff", "d_ff", getSize(&TransformerConfig::dFF), Show::OnRequest, Role::Setting},
          {"num_layers", "num_layers", getSize(&TransformerConfig::numLayers), Show::OnRequest, Role::Setting},
          {"num_heads", "num_heads", getSize(&TransformerConfig::numHeads), Show::OnRequest, Role::Setting},
          {"vocab_size", "vocab_size", getSize(&TransformerConfig::vocabSize), Show::OnRequest, Role::Setting}};
}

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_MODELCOLUMNS_H
