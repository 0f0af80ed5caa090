//===- Communication.cpp - Predicted communication of a step --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/Communication.h"

#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;

std::string cs336::bench::describeCommunication(const PlanRow &row) {
  const CommunicationSummary &sum = row.plan.communication;
  return llvm::formatv("each rank sends {0:f3} GB in {1} collectives, which take {2:f3} ms of a step of {3:f3} ms as "
                       "predicted on {4}; {5:f3} ms of them are exposed, while no other command runs",
                       static_cast<double>(sum.wireBytes) / 1e9, sum.collectives, sum.seconds * 1e3,
                       row.plan.timeline.getSeconds() * 1e3, row.plan.timeline.device, sum.exposedSeconds * 1e3);
}

Table cs336::bench::makeCollectiveTable(const ModelPlan &plan) {
  using Row = CollectiveSummary;
  std::vector<Column<Row>> columns{
      {"collective", "collective", [](const Row &row) { return Cell(row.command->name); }},
      {"of", "source", [](const Row &row) { return Cell(row.command->source); }, Show::Text},
      {"sent (MiB)", "sent_mib", [](const Row &row) { return Cell::mebibytes(row.command->wireBytes); }},
      {"start (us)", "start_us", [](const Row &row) { return Cell::number(row.command->start * 1e6, 1); }},
      {"predicted (us)", "predicted_us",
       [](const Row &row) { return Cell::number((row.command->end - row.command->start) * 1e6, 1); }},
      {"exposed (us)", "exposed_us", [](const Row &row) { return Cell::number(row.exposedSeconds * 1e6, 1); }}};
  std::vector<Row> rows = listCollectives(plan.timeline);
  return {"collectives", "collectives of a step", columns, llvm::ArrayRef(rows)};
}
