//===- AttentionReport.cpp - Measured attention as rows -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionReport.h"

#include "cs336/Bench/Model/ModelReport.h"
#include "cs336/Bench/Timing/Statistics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

namespace {
/// Of the backward pass: what a step with gradients takes longer.
struct BackwardTimes {
  double mean, median, sum;

  /// Whether the difference is more than what steps vary by, which may make it negative.
  bool isMeasured() const { return median > 0; }
};
} // namespace

std::string cs336::bench::describeAttention(const AttentionCase &attention, Fusion fusion,
                                            const PipelineVariant &pipeline) {
  std::string heads = attention.numHeads > 1 ? llvm::formatv("{0} x ", attention.numHeads).str() : "";
  return llvm::formatv("{0} x {1}{2} x {3}{4}{5}, {6}, {7}", attention.batchSize, heads, attention.length,
                       attention.headDim, attention.isCausal ? ", causal" : "",
                       attention.part == AttentionCase::Part::Scores ? ", scores" : "",
                       stringifyComputeType(attention.computeType), describeFusion(fusion, pipeline));
}

static double sum(llvm::ArrayRef<double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

static BackwardTimes subtract(llvm::ArrayRef<double> both, llvm::ArrayRef<double> loss) {
  Statistics with = computeStatistics(both), without = computeStatistics(loss);
  return {with.mean - without.mean, with.median - without.median, sum(both) - sum(loss)};
}

/// How often `theirs` has the time of `ours`; nothing where either was not measured.
static Cell makeSpeedUp(const std::optional<BackwardTimes> &theirs, const std::optional<BackwardTimes> &ours) {
  bool areMeasured = theirs && theirs->isMeasured() && ours && ours->isMeasured();
  return areMeasured ? Cell::number(theirs->median / ours->median, 2) : Cell::empty();
}

static std::vector<std::string> getVariants(llvm::ArrayRef<AttentionRow> rows) {
  std::vector<std::string> variants;
  for (const AttentionRow &row : rows)
    for (const AttentionPeerMeasurement &peer : row.measurement.peers)
      if (!llvm::is_contained(variants, peer.variant))
        variants.push_back(peer.variant);
  return variants;
}

static std::vector<Report::Column> getColumns(llvm::ArrayRef<std::string> variants) {
  std::vector<Report::Column> columns{{"batch", "batch_size"},
                                      {"heads", "num_heads"},
                                      {"S", "length"},
                                      {"d", "head_dim"},
                                      {"mask", "mask"},
                                      {"part", "part"},
                                      {"dtype", "dtype"},
                                      {"fusion", "fusion"},
                                      {"ladder", "ladder", true},
                                      {"added", "added"},
                                      {"warm-up", "warmup"},
                                      {"steps", "steps"},
                                      {"forward (ms)", "forward_median_ms"},
                                      {"mean (ms)", "forward_mean_ms"},
                                      {"std (ms)", "forward_std_ms"},
                                      {"min (ms)", "forward_min_ms"},
                                      {"sum of forwards (ms)", "forward_sum_ms"},
                                      {"backward (ms)", "backward_median_ms"},
                                      {"mean (ms)", "backward_mean_ms"},
                                      {"sum of backwards (ms)", "backward_sum_ms"},
                                      {"event forward (ms)", "event_forward_ms"},
                                      {"event backward (ms)", "event_backward_ms"},
                                      {"forward TFLOP/s", "forward_tflops"},
                                      {"backward TFLOP/s", "backward_tflops"},
                                      {"before backward (MiB)", "before_backward_mib"},
                                      {"peak forward (MiB)", "forward_peak_mib"},
                                      {"peak backward (MiB)", "backward_peak_mib"},
                                      {"commands forward", "forward_commands"},
                                      {"backward", "backward_commands"},
                                      {"speed-up forward", "forward_speedup"},
                                      {"backward", "backward_speedup"},
                                      {"over fp32 forward", "dtype_forward_speedup"},
                                      {"backward", "dtype_backward_speedup"},
                                      {"compile (s)", "compile_seconds", true},
                                      {"forward steps (ms)", "forward_step_ms", true},
                                      {"loss steps (ms)", "loss_step_ms", true},
                                      {"forward and backward steps (ms)", "forward_backward_step_ms", true}};
  for (const std::string &variant : variants)
    llvm::append_values(columns,
                        Report::Column{"torch " + variant + " forward (ms)", "torch_" + variant + "_forward_median_ms"},
                        Report::Column{"ratio", "torch_" + variant + "_forward_ratio"},
                        Report::Column{"backward (ms)", "torch_" + variant + "_backward_median_ms"},
                        Report::Column{"ratio", "torch_" + variant + "_backward_ratio"},
                        Report::Column{"values differ by", "torch_" + variant + "_difference"},
                        Report::Column{"before backward (MiB)", "torch_" + variant + "_before_backward_mib"},
                        Report::Column{"peak (MiB)", "torch_" + variant + "_peak_mib"});
  columns.push_back({"status", "status", true});
  return columns;
}

/// The measurement of the same case that `isBase` finds, if both passes were measured; none for a base itself.
static const AttentionMeasurement *findBase(const AttentionRow &row, llvm::ArrayRef<AttentionRow> rows,
                                            llvm::function_ref<bool(const AttentionRow &)> isBase) {
  if (isBase(row))
    return nullptr;
  for (const AttentionRow &other : rows) {
    AttentionCase inSameType = other.attention;
    inSameType.computeType = row.attention.computeType;
    if (inSameType == row.attention && isBase(other) && other.measurement.backwardStatus.ok())
      return &other.measurement;
  }
  return nullptr;
}

/// Without fusion, or at the foot of the row's ladder.
static const AttentionMeasurement *findUnfused(const AttentionRow &row, llvm::ArrayRef<AttentionRow> rows) {
  bool isRung = !row.pipeline.added.empty();
  return findBase(row, rows, [&](const AttentionRow &other) {
    if (isRung)
      return other.pipeline.added == "none" && other.pipeline.ladder == row.pipeline.ladder;
    return other.pipeline.added.empty() && other.fusion == Fusion::None &&
           other.attention.computeType == row.attention.computeType;
  });
}

/// In float32, all else being equal. In a ladder types are not all that differs.
static const AttentionMeasurement *findFloat32(const AttentionRow &row, llvm::ArrayRef<AttentionRow> rows) {
  return findBase(row, rows, [&](const AttentionRow &other) {
    return other.attention.computeType == ComputeType::FP32 && other.fusion == row.fusion &&
           row.pipeline.added.empty() && other.pipeline.added.empty();
  });
}

static Cell makeMiB(int64_t bytes) {
  return bytes > 0 ? Cell::number(static_cast<double>(bytes) / 1048576.0, 1) : Cell::empty();
}

static Cell makeMiB(std::optional<double> mebibytes) { return mebibytes ? Cell::number(*mebibytes, 1) : Cell::empty(); }

static Cell makeTimes(llvm::ArrayRef<double> times) { return {"", json::Array(times)}; }

static double getTeraRate(double flops, double milliseconds) {
  return milliseconds > 0 ? flops / (milliseconds * 1e9) : 0;
}

static Cell makeBackwardRate(const AttentionCase &attention, const std::optional<BackwardTimes> &backward) {
  if (!backward)
    return Cell::empty();
  return backward->isMeasured() ? Cell::number(getTeraRate(attention.getBackwardFlops(), backward->median), 3)
                                : Cell("lost in noise", nullptr);
}

static void appendPeer(const AttentionRow &row, llvm::StringRef variant, std::optional<BackwardTimes> backward,
                       std::vector<Cell> &cells) {
  const AttentionMeasurement &measurement = row.measurement;
  auto peer = llvm::find_if(measurement.peers, [&](const auto &each) { return each.variant == variant; });
  if (peer == measurement.peers.end() || !peer->status.ok()) {
    cells.push_back(peer == measurement.peers.end() ? Cell::empty()
                                                    : Cell(getFailureText(peer->status).str(), nullptr));
    cells.resize(cells.size() + 6, Cell::empty());
    return;
  }
  auto makeRatio = [&](double theirs, double ours) {
    return peer->isClose ? Cell::number(theirs / ours, 2) : Cell("mismatch", nullptr);
  };
  double forward = computeStatistics(peer->forwardMilliseconds).median;
  double ownForward = computeStatistics(measurement.forward.host).median;
  double theirBackward = computeStatistics(peer->backwardMilliseconds).median;
  json::Object differences{{"output", peer->outputDifference}, {"gradient", peer->gradientDifference}};
  llvm::append_values(
      cells, Cell::number(forward, 3), makeRatio(forward, ownForward), Cell::number(theirBackward, 3),
      backward && backward->isMeasured() ? makeRatio(theirBackward, backward->median) : Cell::empty(),
      Cell(llvm::formatv("o {0:e1}, gradient {1:e1}", peer->outputDifference, peer->gradientDifference).str(),
           std::move(differences)),
      makeMiB(peer->beforeBackwardMiB), makeMiB(peer->backwardPeakMiB));
}

/// Columns from the median of forward to its sum; then of backward.
static void appendTimes(const AttentionMeasurement &measurement, std::optional<BackwardTimes> backward,
                        std::vector<Cell> &cells) {
  if (measurement.forwardStatus.ok()) {
    Statistics forward = computeStatistics(measurement.forward.host);
    llvm::append_values(cells, Cell::number(forward.median, 3), Cell::number(forward.mean, 3),
                        Cell::number(forward.std, 3), Cell::number(forward.min, 3),
                        Cell::number(sum(measurement.forward.host), 1));
  } else {
    cells.emplace_back(getFailureText(measurement.forwardStatus).str(), nullptr);
    cells.resize(cells.size() + 4, Cell::empty());
  }
  if (backward)
    llvm::append_values(
        cells, backward->isMeasured() ? Cell::number(backward->median, 3) : Cell("lost in noise", backward->median),
        Cell::number(backward->mean, 3), Cell::number(backward->sum, 1));
  else
    llvm::append_values(cells, Cell(getFailureText(measurement.backwardStatus).str(), nullptr), Cell::empty(),
                        Cell::empty());
  bool hasEvents = !measurement.forward.device.empty(), hasBackwardEvents = !measurement.both.device.empty();
  cells.push_back(hasEvents ? Cell::number(computeStatistics(measurement.forward.device).median, 3) : Cell::empty());
  cells.push_back(hasBackwardEvents ? Cell::number(subtract(measurement.both.device, measurement.loss.device).median, 3)
                                    : Cell::empty());
}

static std::vector<Cell> makeRow(const AttentionRow &row, llvm::ArrayRef<AttentionRow> rows,
                                 llvm::ArrayRef<std::string> variants) {
  const AttentionCase &attention = row.attention;
  const AttentionMeasurement &measurement = row.measurement;
  std::optional<BackwardTimes> backward;
  if (measurement.backwardStatus.ok())
    backward = subtract(measurement.both.host, measurement.loss.host);
  std::vector<Cell> cells{Cell::integer(attention.batchSize),
                          Cell::integer(attention.numHeads),
                          Cell::integer(attention.length),
                          Cell::integer(attention.headDim),
                          Cell(attention.isCausal ? "causal" : "full"),
                          Cell(attention.getPartName().str()),
                          Cell(stringifyComputeType(attention.computeType).str()),
                          Cell(stringifyFusion(row.fusion).str()),
                          Cell::optional(row.pipeline.ladder),
                          Cell::optional(row.pipeline.added),
                          Cell::integer(row.warmup),
                          Cell::integer(row.steps)};
  appendTimes(measurement, backward, cells);
  std::optional<double> forward;
  if (measurement.forwardStatus.ok())
    forward = computeStatistics(measurement.forward.host).median;
  llvm::append_values(cells,
                      forward ? Cell::number(getTeraRate(attention.getForwardFlops(), *forward), 3) : Cell::empty(),
                      makeBackwardRate(attention, backward), makeMiB(measurement.memory.beforeBackward),
                      makeMiB(measurement.memory.forwardPeak), makeMiB(measurement.memory.backwardPeak),
                      Cell::integer(measurement.forwardCommands), Cell::integer(measurement.backwardCommands));
  for (const AttentionMeasurement *base : {findUnfused(row, rows), findFloat32(row, rows)}) {
    std::optional<BackwardTimes> baseBackward;
    if (base)
      baseBackward = subtract(base->both.host, base->loss.host);
    cells.push_back(base && forward ? Cell::number(computeStatistics(base->forward.host).median / *forward, 2)
                                    : Cell::empty());
    cells.push_back(makeSpeedUp(baseBackward, backward));
  }
  llvm::append_values(cells, Cell::number(measurement.compileSeconds, 2), makeTimes(measurement.forward.host),
                      makeTimes(measurement.loss.host), makeTimes(measurement.both.host));
  for (const std::string &variant : variants)
    appendPeer(row, variant, backward, cells);
  cells.push_back(Cell(measurement.backwardStatus.ok() ? "ok" : std::string(measurement.backwardStatus.message())));
  return cells;
}

Report cs336::bench::makeAttentionReport(llvm::ArrayRef<AttentionRow> rows, json::Object context) {
  std::vector<std::string> variants = getVariants(rows);
  Report report(getColumns(variants), std::move(context));
  for (const AttentionRow &row : rows)
    report.addRow(makeRow(row, rows, variants));
  return report;
}
