//===- ScalingReport.cpp - Scaling of models as tables --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Scaling/ScalingReport.h"

#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Plan/LinkFlags.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

/// Returns the columns of links. `getLinks` returns those of a row.
template <typename Row>
static std::vector<Column<Row>> getLinkColumns(std::function<const Interconnect &(const Row &)> getLinks) {
  return {
      {"start (us)", "start_us", [=](const Row &row) { return Cell::number(getLinks(row).startSeconds * 1e6, 1); },
       Show::Setting},
      {"link", "link", [=](const Row &row) { return Cell(describeLink(getLinks(row).link)); }, Show::Setting},
      {"network", "network", [=](const Row &row) { return Cell(describeLink(getLinks(row).network)); }, Show::Setting},
      {"devices per host", "devices_per_host",
       [=](const Row &row) { return Cell::integer(getLinks(row).devicesPerHost); }, Show::Setting}};
}

/// Returns the columns of a model, its batch, the rates, and the strategy.
template <typename Row>
static std::vector<Column<Row>> getCaseColumns() {
  auto config = [](const Row &row) -> const TransformerConfig & { return row.scalingCase->model.getConfig(); };
  auto getSequences = [](bool isPerDevice) {
    return [isPerDevice](const Row &row) {
      const ScalingBatch &batch = row.scalingCase->batch;
      return batch.isPerDevice == isPerDevice ? Cell::integer(batch.sequences) : Cell::empty();
    };
  };
  std::vector<Column<Row>> columns{
      {"strategy", "strategy", [](const Row &row) { return Cell(stringifyStrategy(row.strategy)); }, Show::Setting},
      {"size", "size", [=](const Row &row) { return Cell(describeSize(config(row))); }, Show::Setting},
      {"params (M)", "parameters_millions",
       [=](const Row &row) { return Cell::number(static_cast<double>(config(row).getParameterCount()) / 1e6, 3); },
       Show::Setting},
      {"context", "context_length", [=](const Row &row) { return Cell::integer(config(row).contextLength); },
       Show::Setting},
      {"batch per device", "batch_size", getSequences(true), Show::Setting},
      {"batch", "global_batch", getSequences(false), Show::Setting},
      {"dtype", "dtype", [](const Row &row) { return Cell(stringifyComputeType(row.scalingCase->computeType)); },
       Show::Setting},
      {"TFLOP/s", "rate_tflops",
       [](const Row &row) { return Cell::number(row.scalingCase->model.getRates().flopsPerSecond / 1e12, 3); },
       Show::Setting}};
  llvm::append_range(columns, getLinkColumns<Row>([](const Row &row) -> const Interconnect & {
                       return row.scalingCase->model.getRates().links;
                     }));
  return columns;
}

/// Describes data and tensor ranks: "32 x 8".
static std::string describeGrid(RankGrid grid) {
  return std::to_string(grid.data) + " x " + std::to_string(grid.tensor);
}

std::vector<Column<ScalingRow>> cs336::bench::getScalingColumns() {
  using Row = ScalingRow;
  std::vector<Column<Row>> columns = getCaseColumns<Row>();
  auto add = [&](const char *title, const char *key, Column<Row>::Extract get, Show show = Show::Result) {
    columns.push_back(
        {title, key,
         [get = std::move(get)](const Row &row) { return row.impossible.empty() ? get(row) : Cell::empty(); }, show});
  };
  auto addTime = [&](const char *title, const char *key, std::function<double(const StepTime &)> get, double unit,
                     Show show = Show::Result) {
    add(
        title, key, [get = std::move(get), unit](const Row &row) { return Cell::number(get(row.step) * unit, 3); },
        show);
  };
  constexpr double kMilli = 1e3, kMicro = 1e6;
  columns.push_back(
      {"ranks", "ranks", [](const Row &row) { return Cell::integer(row.grid.getRanks()); }, Show::Setting});
  add("data x tensor", "data_x_tensor", [](const Row &row) { return Cell(describeGrid(row.grid)); });
  add("tokens/device", "tokens_per_device", [](const Row &row) { return Cell::number(row.tokensPerDevice, 0); });
  addTime("compute (ms)", "compute_ms", &StepTime::getCompute, kMilli);
  addTime("communication (ms)", "communication_ms", &StepTime::getCommunication, kMilli);
  addTime("step (ms)", "step_ms", &StepTime::getOverlapped, kMilli);
  columns.push_back({"bound by", "bound_by", [](const Row &row) {
                       if (!row.impossible.empty())
                         return Cell(row.impossible);
                       return Cell(
                           llvm::StringRef(row.step.isBoundByCommunication() ? "communication" : "computation"));
                     }});
  add("least tokens", "least_tokens_per_device",
      [](const Row &row) { return row.leastTokens ? Cell::integer(*row.leastTokens) : Cell::note("none"); });
  addTime("exposed (ms)", "exposed_ms", &StepTime::getExposed, kMilli, Show::OnRequest);
  addTime(
      "forward compute (ms)", "forward_compute_ms", [](const StepTime &step) { return step.forward.compute; }, kMilli,
      Show::OnRequest);
  addTime(
      "forward communication (ms)", "forward_communication_ms",
      [](const StepTime &step) { return step.forward.communication; }, kMilli, Show::OnRequest);
  addTime(
      "backward compute (ms)", "backward_compute_ms", [](const StepTime &step) { return step.backward.compute; },
      kMilli, Show::OnRequest);
  addTime(
      "backward communication (ms)", "backward_communication_ms",
      [](const StepTime &step) { return step.backward.communication; }, kMilli, Show::OnRequest);
  addTime(
      "layer compute (us)", "layer_compute_us", [](const StepTime &step) { return step.layer.compute; }, kMicro,
      Show::OnRequest);
  addTime(
      "layer communication (us)", "layer_communication_us",
      [](const StepTime &step) { return step.layer.communication; }, kMicro, Show::OnRequest);
  addTime(
      "without overlap (ms)", "serial_ms",
      [](const StepTime &step) { return step.getCompute() + step.getCommunication(); }, kMilli, Show::OnRequest);
  add(
      "sent (GB)", "sent_gigabytes",
      [](const Row &row) { return Cell::number(static_cast<double>(row.step.sentBytes) / 1e9, 3); }, Show::OnRequest);
  add(
      "tokens/s", "tokens_per_second",
      [](const Row &row) {
        double tokens = row.tokensPerDevice * static_cast<double>(row.grid.getRanks());
        return Cell::number(tokens / row.step.getOverlapped(), 0);
      },
      Show::OnRequest);
  return columns;
}

std::vector<Column<AllReduceAlgorithmRow>> cs336::bench::getAlgorithmColumns() {
  using Row = AllReduceAlgorithmRow;
  std::vector<Column<Row>> columns;
  auto getSeconds = [](const Row &row) {
    return row.links.startSeconds + getSlowestLink(row.links, row.ranks).predict(row.cost.steps, row.cost.sentBytes);
  };
  auto add = [&](const char *title, const char *key, Column<Row>::Extract get, Show show = Show::Result) {
    columns.push_back({title, key, std::move(get), show});
  };
  add("buffer (B)", "buffer_bytes", [](const Row &row) { return Cell::integer(row.bytes); }, Show::Setting);
  llvm::append_range(columns, getLinkColumns<Row>([](const Row &row) -> const Interconnect & { return row.links; }));
  add("ranks", "ranks", [](const Row &row) { return Cell::integer(row.ranks); }, Show::Setting);
  add(
      "algorithm", "algorithm", [](const Row &row) { return Cell(stringifyAllReduceAlgorithm(row.algorithm)); },
      Show::Setting);
  add("steps", "steps", [](const Row &row) { return Cell::integer(row.cost.steps); });
  add("sent (B)", "sent_bytes", [](const Row &row) { return Cell::integer(row.cost.sentBytes); });
  add("time (ms)", "time_ms", [=](const Row &row) { return Cell::number(getSeconds(row) * 1e3, 3); });
  add("busbw (GB/s)", "busbw_gb_s", [=](const Row &row) {
    auto bytes = static_cast<double>(getRingBytes(CollectiveKind::AllReduce, row.ranks, row.bytes));
    return Cell::number(bytes / getSeconds(row) / 1e9, 3);
  });
  add("equal at (B)", "equal_bytes", [](const Row &row) {
    std::optional<double> equal = getEqualBytes(getSlowestLink(row.links, row.ranks), row.ranks);
    bool isAlternate = row.algorithm == AllReduceAlgorithm::WholeBufferRing;
    return isAlternate && equal ? Cell::integer(static_cast<int64_t>(*equal)) : Cell::empty();
  });
  return columns;
}

ScalingRow cs336::bench::scale(const ScalingCase &scalingCase, Strategy strategy, int64_t ranks) {
  const ScalingModel &model = scalingCase.model;
  int64_t sequences = scalingCase.batch.getSequences(ranks);
  RankGrid grid = model.chooseGrid(strategy, ranks, sequences);
  ScalingRow row{&scalingCase, strategy, grid, model.getObstacle(grid, sequences)};
  if (!row.impossible.empty())
    return row;
  auto tokens = static_cast<double>(sequences * model.getConfig().contextLength);
  row.tokensPerDevice = tokens / static_cast<double>(ranks);
  row.step = model.predict(strategy, grid, tokens);
  row.leastTokens = findLeastTokens(model, strategy, grid);
  return row;
}

std::vector<AllReduceAlgorithmRow> cs336::bench::compareAlgorithms(const Interconnect &links, int64_t ranks,
                                                                   int64_t bytes) {
  std::vector<AllReduceAlgorithmRow> rows;
  for (AllReduceAlgorithm algorithm : getAllReduceAlgorithms())
    if (std::optional<AllReduceCost> cost = getAllReduceCost(algorithm, ranks, bytes))
      rows.push_back({links, algorithm, ranks, bytes, *cost});
  return rows;
}

static Table makeLimitTable(llvm::ArrayRef<LimitRow> rows) {
  using Row = LimitRow;
  std::vector<Column<Row>> columns = getCaseColumns<Row>();
  // The table above shows what all rows share.
  for (Column<Row> &column : columns)
    if (column.key == "start_us" || column.key == "link" || column.key == "network" || column.key == "devices_per_host")
      column.show = Show::OnRequest;
  columns.push_back({"most ranks", "most_ranks", [](const Row &row) { return Cell::integer(row.limit.ranks); }});
  columns.push_back(
      {"data x tensor", "data_x_tensor", [](const Row &row) { return Cell(describeGrid(row.limit.grid)); }});
  columns.push_back({"ended by", "ended_by", [](const Row &row) { return Cell(row.limit.endedBy); }});
  return {"limits", "the most ranks before communication binds", columns, rows};
}

Report cs336::bench::makeScalingReport(llvm::ArrayRef<ScalingRow> rows, llvm::ArrayRef<LimitRow> limits,
                                       json::Object context) {
  Report report{std::move(context), {{"scaling", "", getScalingColumns(), rows}, makeLimitTable(limits)}, {}};
  report.notes.push_back(
      "predicted, not measured: each pass takes the longer of computation and communication; least "
      "tokens: per device, for computation to bind; sequences, heads, d_ff: too few, or not divisible "
      "by the ranks");
  return report;
}

Report cs336::bench::makeAlgorithmReport(llvm::ArrayRef<AllReduceAlgorithmRow> rows, json::Object context) {
  Report report{std::move(context), {{"all-reduce", "", getAlgorithmColumns(), rows}}, {}};
  report.notes.push_back(
      "predicted, not measured. ring: reduce-scatter and all-gather of parts; whole-buffer ring: each "
      "rank passes whole buffers n - 1 times; equal at: the buffer for which both take equally long; "
      "one-shot: each rank sends its buffer to all others; halving-doubling: parts between ranks at "
      "distances 1, 2, 4, ...; with more ranks than devices of a host, all of them on the network");
  return report;
}
