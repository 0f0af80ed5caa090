//===- AttentionReport.cpp - Measured attention as rows -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionReport.h"

#include "KernelColumns.h"
#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Timing/RangedCells.h"
#include "cs336/Bench/Timing/Statistics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

namespace {
/// The time of the backward pass: the difference between a step with gradients and a forward step.
struct BackwardTimes {
  double mean, sum;
  /// Negative if the variation of the steps exceeds the time of the backward pass.
  Ranged median;
};
} // namespace

std::string cs336::bench::describeAttention(const AttentionCase &attention, Fusion fusion,
                                            const PipelineVariant &pipeline, std::optional<cuda::ScoreTile> tile) {
  std::string heads = attention.numHeads > 1 ? llvm::formatv("{0} x ", attention.numHeads).str() : "";
  std::string tiles = tile ? ", tile " + describeTile(*tile) : "";
  std::string score = attention.score == AttentionScore() ? "" : ", " + attention.score.text;
  return llvm::formatv("{0} x {1}{2} x {3}{4}{5}{6}, {7}, {8}{9}", attention.batchSize, heads, attention.length,
                       attention.headDim, attention.isCausal ? ", causal" : "", score,
                       attention.part == AttentionCase::Part::Scores ? ", scores" : "",
                       stringifyComputeType(attention.computeType), describeFusion(fusion, pipeline), tiles);
}

static double sum(llvm::ArrayRef<double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

static BackwardTimes subtract(llvm::ArrayRef<double> both, llvm::ArrayRef<double> loss) {
  return {computeStatistics(both).mean - computeStatistics(loss).mean, sum(both) - sum(loss),
          bench::subtract(getRangedMedian(both), getRangedMedian(loss))};
}

static std::vector<std::string> getVariants(llvm::ArrayRef<AttentionRow> rows) {
  std::vector<std::string> variants;
  for (const AttentionRow &row : rows)
    for (const AttentionPeerMeasurement &peer : row.measurement.peers)
      if (!llvm::is_contained(variants, peer.variant))
        variants.push_back(peer.variant);
  return variants;
}

/// Returns the measurement of the same case for which `isBase` returns true, if both passes were measured, or null if
/// the row is a base itself.
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

/// Returns whether the row is without fusion, or the first rung of its ladder.
static const AttentionMeasurement *findUnfused(const AttentionRow &row, llvm::ArrayRef<AttentionRow> rows) {
  bool isRung = !row.pipeline.added.empty();
  return findBase(row, rows, [&](const AttentionRow &other) {
    if (isRung)
      return other.pipeline.added == "none" && other.pipeline.ladder == row.pipeline.ladder;
    return other.pipeline.added.empty() && other.fusion == Fusion::None &&
           other.attention.computeType == row.attention.computeType;
  });
}

/// Returns whether the row is the same case in float32. Rungs of a ladder differ in more than types.
static const AttentionMeasurement *findFloat32(const AttentionRow &row, llvm::ArrayRef<AttentionRow> rows) {
  return findBase(row, rows, [&](const AttentionRow &other) {
    return other.attention.computeType == ComputeType::FP32 && other.fusion == row.fusion &&
           row.pipeline.added.empty() && other.pipeline.added.empty();
  });
}

using Columns = std::vector<Column<AttentionRow>>;

/// Both functions return nullopt for a pass that did not run.
static std::optional<BackwardTimes> getBackward(const AttentionMeasurement &measurement) {
  if (measurement.both.host.empty() || !measurement.backwardStatus.ok())
    return std::nullopt;
  return subtract(measurement.both.host, measurement.loss.host);
}

static std::optional<Ranged> getForward(const AttentionMeasurement &measurement) {
  if (measurement.forward.host.empty() || !measurement.forwardStatus.ok())
    return std::nullopt;
  return getRangedMedian(measurement.forward.host);
}

/// Returns the factor by which the backward pass is shorter than that of `base`.
static std::optional<Ranged> getBackwardSpeedUp(const AttentionRow &row, const AttentionMeasurement *base) {
  std::optional<BackwardTimes> ours = getBackward(row.measurement);
  std::optional<BackwardTimes> theirs = base ? getBackward(*base) : std::nullopt;
  return ours && theirs ? std::optional(divide(theirs->median, ours->median)) : std::nullopt;
}

static std::optional<Ranged> getForwardSpeedUp(const AttentionRow &row, const AttentionMeasurement *base) {
  std::optional<Ranged> ours = getForward(row.measurement), theirs = base ? getForward(*base) : std::nullopt;
  return ours && theirs ? std::optional(divide(*theirs, *ours)) : std::nullopt;
}

static Cell makeMiB(int64_t bytes) { return Cell::mebibytes(bytes > 0 ? std::optional(bytes) : std::nullopt); }

static double getTeraRate(double flops, double milliseconds) {
  return milliseconds > 0 ? flops / (milliseconds * 1e9) : 0;
}

/// Returns the share of a GEMM's rate that a pass of so many FLOPs reaches.
static Cell makeMFU(const AttentionRow &row, double flops, double milliseconds) {
  return makeUtilization(getTeraRate(flops, milliseconds) * 1e12, row.peakRate);
}

double cs336::bench::getHighestRate(const AttentionRow &row) {
  double rate = 0;
  if (std::optional<Ranged> forward = getForward(row.measurement))
    rate = getTeraRate(row.attention.getForwardFlops(), forward->value) * 1e12;
  if (std::optional<BackwardTimes> backward = getBackward(row.measurement); backward && backward->median.isClear())
    rate = std::max(rate, getTeraRate(row.attention.getBackwardFlops(), backward->median.value) * 1e12);
  return rate;
}

static void appendSettings(Columns &columns) {
  using Row = AttentionRow;
  auto add = [&](std::string title, std::string key, Cell (*get)(const Row &), Show show = Show::Setting,
                 Role role = Role::Setting) { columns.push_back({std::move(title), std::move(key), get, show, role}); };
  add("batch", "batch_size", [](const Row &row) { return Cell::integer(row.attention.batchSize); });
  add("heads", "num_heads", [](const Row &row) { return Cell::integer(row.attention.numHeads); });
  add("S", "length", [](const Row &row) { return Cell::integer(row.attention.length); });
  add("d", "head_dim", [](const Row &row) { return Cell::integer(row.attention.headDim); });
  add("mask", "mask", [](const Row &row) { return Cell(std::string(row.attention.isCausal ? "causal" : "full")); });
  add("score", "score", [](const Row &row) { return Cell(row.attention.score.text); });
  add("part", "part", [](const Row &row) { return Cell(row.attention.getPartName()); });
  add("dtype", "dtype", [](const Row &row) { return Cell(stringifyComputeType(row.attention.computeType)); });
  add("fusion", "fusion", [](const Row &row) { return Cell(stringifyFusion(row.fusion)); });
  add("ladder", "ladder", [](const Row &row) { return Cell::optional(row.pipeline.ladder); }, Show::OnRequest);
  add("added", "added", [](const Row &row) { return Cell::optional(row.pipeline.added); });
  add("tile", "tile", [](const Row &row) { return row.tile ? Cell(describeTile(*row.tile)) : Cell::empty(); });
  add("warm-up", "warmup", [](const Row &row) { return Cell::integer(row.warmup); });
  // A result, because measurements with different numbers of steps are comparable.
  add("steps", "steps", [](const Row &row) { return Cell::integer(row.steps); }, Show::Setting, Role::Result);
}

/// The columns with the time of every step: of the forward pass, of the loss, and of loss and backward pass together.
static constexpr const char *kForwardStepsKey = "forward_step_ms", *kLossStepsKey = "loss_step_ms",
                            *kBothStepsKey = "forward_backward_step_ms";

/// Appends the host's times, then the GPU's. If a pass has none, the column of the median contains the reason.
static void appendTimes(Columns &columns) {
  using M = AttentionMeasurement;
  auto add = [&](std::string title, std::string key, Cell (*get)(const M &), Show show = Show::Result) {
    columns.push_back(
        {std::move(title), std::move(key), [get](const AttentionRow &row) { return get(row.measurement); }, show});
  };
  auto addForward = [&](std::string title, std::string key, double (*get)(const std::vector<double> &), int digits) {
    auto extract = [get, digits](const AttentionRow &row) {
      const M &measurement = row.measurement;
      return getForward(measurement) ? Cell::number(get(measurement.forward.host), digits) : Cell::empty();
    };
    columns.push_back({std::move(title), std::move(key), extract, Show::OnRequest});
  };
  add("forward (ms)", "forward_median_ms", [](const M &measurement) {
    std::optional<Ranged> forward = getForward(measurement);
    return forward ? Cell::number(forward->value, 3) : Cell::note(getAttentionFailureText(measurement.forwardStatus));
  });
  columns.back().samples = {kForwardStepsKey};
  addForward(
      "mean forward (ms)", "forward_mean_ms",
      [](const std::vector<double> &times) { return computeStatistics(times).mean; }, 3);
  columns.back().samples = {kForwardStepsKey};
  addForward(
      "std forward (ms)", "forward_std_ms",
      [](const std::vector<double> &times) { return computeStatistics(times).std; }, 3);
  addForward(
      "min forward (ms)", "forward_min_ms",
      [](const std::vector<double> &times) { return computeStatistics(times).min; }, 3);
  addForward("sum of forwards (ms)", "forward_sum_ms", [](const std::vector<double> &times) { return sum(times); }, 1);
  add("backward (ms)", "backward_median_ms", [](const M &measurement) {
    std::optional<BackwardTimes> backward = getBackward(measurement);
    if (!backward)
      return Cell::note(getAttentionFailureText(measurement.backwardStatus));
    return makeDifference(backward->median, 3);
  });
  columns.back().samples = {kBothStepsKey, kLossStepsKey};
  auto addBackward = [&](std::string title, std::string key, double BackwardTimes::*member, int digits) {
    auto extract = [member, digits](const AttentionRow &row) {
      std::optional<BackwardTimes> backward = getBackward(row.measurement);
      return backward ? Cell::number((*backward).*member, digits) : Cell::empty();
    };
    columns.push_back({std::move(title), std::move(key), extract, Show::OnRequest});
  };
  addBackward("mean backward (ms)", "backward_mean_ms", &BackwardTimes::mean, 3);
  columns.back().samples = {kBothStepsKey, kLossStepsKey};
  addBackward("sum of backwards (ms)", "backward_sum_ms", &BackwardTimes::sum, 1);
  add(
      "both (ms)", "both_median_ms",
      [](const M &measurement) {
        return getBackward(measurement) ? Cell::number(computeStatistics(measurement.both.host).median, 3)
                                        : Cell::empty();
      },
      Show::OnRequest);
  columns.back().samples = {kBothStepsKey};
  add(
      "event forward (ms)", "event_forward_ms",
      [](const M &measurement) {
        const std::vector<double> &times = measurement.forward.device;
        return times.empty() ? Cell::empty() : Cell::number(computeStatistics(times).median, 3);
      },
      Show::OnRequest);
  add(
      "event backward (ms)", "event_backward_ms",
      [](const M &measurement) {
        if (measurement.both.device.empty())
          return Cell::empty();
        return makeDifference(subtract(measurement.both.device, measurement.loss.device).median, 3);
      },
      Show::OnRequest);
}

/// Appends speed-ups over the row's base cases.
static void appendSpeedUps(Columns &columns, llvm::ArrayRef<AttentionRow> rows) {
  using Find = const AttentionMeasurement *(*)(const AttentionRow &, llvm::ArrayRef<AttentionRow>);
  auto add = [&](const std::string &title, const std::string &key, Find find) {
    appendRatio<AttentionRow>(columns, title + " fwd", key + "forward_speedup", 2,
                              [=](const AttentionRow &row) { return getForwardSpeedUp(row, find(row, rows)); });
    appendRatio<AttentionRow>(columns, title + " bwd", key + "backward_speedup", 2,
                              [=](const AttentionRow &row) { return getBackwardSpeedUp(row, find(row, rows)); });
  };
  add("speed-up", "", findUnfused);
  add("over fp32", "dtype_", findFloat32);
}

static void appendResources(Columns &columns) {
  using Row = AttentionRow;
  auto add = [&](std::string title, std::string key, Cell (*get)(const Row &), Show show = Show::OnRequest) {
    columns.push_back({std::move(title), std::move(key), get, show});
  };
  add(
      "forward TFLOP/s", "forward_tflops",
      [](const Row &row) {
        std::optional<Ranged> forward = getForward(row.measurement);
        return forward ? Cell::number(getTeraRate(row.attention.getForwardFlops(), forward->value), 3) : Cell::empty();
      },
      Show::Result);
  add("backward TFLOP/s", "backward_tflops", [](const Row &row) {
    std::optional<BackwardTimes> backward = getBackward(row.measurement);
    if (!backward)
      return Cell::empty();
    if (!backward->median.isClear())
      return makeNoisy();
    return Cell::number(getTeraRate(row.attention.getBackwardFlops(), backward->median.value), 3);
  });
  add(
      "MFU forward", "forward_mfu",
      [](const Row &row) {
        std::optional<Ranged> forward = getForward(row.measurement);
        return forward ? makeMFU(row, row.attention.getForwardFlops(), forward->value) : Cell::empty();
      },
      Show::Result);
  add(
      "MFU backward", "backward_mfu",
      [](const Row &row) {
        std::optional<BackwardTimes> backward = getBackward(row.measurement);
        if (!backward)
          return Cell::empty();
        if (row.peakRate && !backward->median.isClear())
          return makeNoisy();
        return makeMFU(row, row.attention.getBackwardFlops(), backward->median.value);
      },
      Show::Result);
  add("peak (TFLOP/s)", "peak_tflops",
      [](const Row &row) { return row.peakRate ? Cell::number(*row.peakRate / 1e12, 3) : Cell::empty(); });
  add(
      "held (MiB)", "before_backward_mib",
      [](const Row &row) { return makeMiB(row.measurement.memory.beforeBackward); }, Show::Result);
  add("peak forward (MiB)", "forward_peak_mib",
      [](const Row &row) { return makeMiB(row.measurement.memory.forwardPeak); });
  add(
      "peak (MiB)", "backward_peak_mib", [](const Row &row) { return makeMiB(row.measurement.memory.backwardPeak); },
      Show::Result);
  add("commands forward", "forward_commands",
      [](const Row &row) { return Cell::integer(row.measurement.forwardCommands); });
  add("commands backward", "backward_commands",
      [](const Row &row) { return Cell::integer(row.measurement.backwardCommands); });
}

/// Appends the fields that only JSON has: the time of every step.
static void appendSteps(Columns &columns) {
  columns.push_back({"compile (s)", "compile_seconds",
                     [](const AttentionRow &row) { return Cell::number(row.measurement.compileSeconds, 2); },
                     Show::OnRequest});
  auto add = [&](std::string title, std::string key, StepTimes AttentionMeasurement::*times) {
    auto extract = [times](const AttentionRow &row) { return Cell::data(json::Array((row.measurement.*times).host)); };
    columns.push_back({std::move(title), std::move(key), extract, Show::Data});
  };
  add("forward steps (ms)", kForwardStepsKey, &AttentionMeasurement::forward);
  add("loss steps (ms)", kLossStepsKey, &AttentionMeasurement::loss);
  add("forward and backward steps (ms)", kBothStepsKey, &AttentionMeasurement::both);
}

/// Returns our times by the clock of the peer's times.
static const std::vector<double> &getTimesLike(const AttentionPeerMeasurement &peer, const StepTimes &ours) {
  return peer.isByEvents ? ours.device : ours.host;
}

/// Returns PyTorch's median over ours, by the same clock. The backward pass has no ratio if our memory did not suffice
/// for it.
static std::optional<Ranged> getForwardRatio(const AttentionRow &row, const AttentionPeerMeasurement &peer) {
  const std::vector<double> &ours = getTimesLike(peer, row.measurement.forward);
  return ours.empty() ? std::nullopt
                      : std::optional(divide(getRangedMedian(peer.forwardMilliseconds), getRangedMedian(ours)));
}

static std::optional<Ranged> getBackwardRatio(const AttentionRow &row, const AttentionPeerMeasurement &peer) {
  const std::vector<double> &both = getTimesLike(peer, row.measurement.both);
  if (both.empty() || !getBackward(row.measurement))
    return std::nullopt;
  BackwardTimes ours = subtract(both, getTimesLike(peer, row.measurement.loss));
  return divide(getRangedMedian(peer.backwardMilliseconds), ours.median);
}

/// Returns the name of the clock of the peer's times, and of ours in the ratios.
static llvm::StringRef getClock(const AttentionPeerMeasurement &peer) { return peer.isByEvents ? "event" : "host"; }

/// Appends the columns of one variant of PyTorch. Where values disagree, the ratios are "mismatch".
static void appendPeer(Columns &columns, const std::string &variant) {
  using Peer = AttentionPeerMeasurement;
  using Get = Cell (*)(const AttentionRow &, const Peer &);
  auto find = [variant](const AttentionRow &row) -> const Peer * {
    const auto *peer =
        llvm::find_if(llvm::ArrayRef(row.measurement.peers), [&](const Peer &each) { return each.variant == variant; });
    return peer == llvm::ArrayRef(row.measurement.peers).end() ? nullptr : peer;
  };
  auto add = [&](std::string title, llvm::StringRef key, Get get, Show show = Show::Result) {
    columns.push_back({std::move(title), "torch_" + variant + key.str(),
                       [find, get](const AttentionRow &row) {
                         const Peer *peer = find(row);
                         return peer && peer->status.ok() ? get(row, *peer) : Cell::empty();
                       },
                       show});
  };
  columns.push_back(
      {variant + " forward (ms)", "torch_" + variant + "_forward_median_ms", [find](const AttentionRow &row) {
         const Peer *peer = find(row);
         if (!peer || !peer->status.ok())
           return peer ? makePeerFailure(peer->status) : Cell::empty();
         return Cell::number(computeStatistics(peer->forwardMilliseconds).median, 3);
       }});
  auto addRatio = [&](llvm::StringRef key, std::optional<Ranged> (*get)(const AttentionRow &, const Peer &)) {
    auto append = [&](llvm::StringRef end, Show show, auto make) {
      columns.push_back({variant + " ratio", ("torch_" + variant + key + end).str(),
                         [find, get, make](const AttentionRow &row) {
                           const Peer *peer = find(row);
                           return peer && peer->status.ok() ? make(get(row, *peer), *peer) : Cell::empty();
                         },
                         show});
    };
    append("", Show::Result, [](std::optional<Ranged> ratio, const Peer &peer) {
      return peer.isClose ? makeRatio(ratio, 2) : Cell::note("mismatch");
    });
    append("_interval", Show::Data, [](std::optional<Ranged> ratio, const Peer &peer) {
      return peer.isClose ? makeInterval(ratio) : Cell::empty();
    });
  };
  addRatio("_forward_ratio", getForwardRatio);
  add(variant + " backward (ms)", "_backward_median_ms", [](const AttentionRow &, const Peer &peer) {
    return Cell::number(computeStatistics(peer.backwardMilliseconds).median, 3);
  });
  addRatio("_backward_ratio", getBackwardRatio);
  add(
      variant + " clock", "_clock", [](const AttentionRow &, const Peer &peer) { return Cell::data(getClock(peer)); },
      Show::Data);
  add(
      variant + " forward TFLOP/s", "_forward_tflops",
      [](const AttentionRow &row, const Peer &peer) {
        double median = computeStatistics(peer.forwardMilliseconds).median;
        return Cell::number(getTeraRate(row.attention.getForwardFlops(), median), 3);
      },
      Show::OnRequest);
  add(
      variant + " backward TFLOP/s", "_backward_tflops",
      [](const AttentionRow &row, const Peer &peer) {
        double median = computeStatistics(peer.backwardMilliseconds).median;
        return Cell::number(getTeraRate(row.attention.getBackwardFlops(), median), 3);
      },
      Show::OnRequest);
  add("o, grad differ by", "_difference", [](const AttentionRow &, const Peer &peer) {
    return Cell(llvm::formatv("{0:e1}, {1:e1}", peer.outputDifference, peer.gradientDifference).str(),
                json::Object{{"output", peer.outputDifference}, {"gradient", peer.gradientDifference}});
  });
  add(
      variant + " held (MiB)", "_before_backward_mib",
      [](const AttentionRow &, const Peer &peer) { return Cell::number(peer.beforeBackwardMiB, 1); }, Show::OnRequest);
  add(
      variant + " peak (MiB)", "_peak_mib",
      [](const AttentionRow &, const Peer &peer) { return Cell::number(peer.backwardPeakMiB, 1); }, Show::OnRequest);
}

Columns cs336::bench::getAttentionColumns(llvm::ArrayRef<AttentionRow> rows, llvm::ArrayRef<std::string> variants) {
  Columns columns;
  appendSettings(columns);
  appendTimes(columns);
  appendSpeedUps(columns, rows);
  appendResources(columns);
  appendKernelColumns(columns, rows);
  appendSteps(columns);
  for (const std::string &variant : variants)
    appendPeer(columns, variant);
  columns.push_back({"status", "status",
                     [](const AttentionRow &row) {
                       const absl::Status &status = row.measurement.backwardStatus;
                       return Cell(status.ok() ? std::string("ok") : std::string(status.message()));
                     },
                     Show::OnRequest});
  return columns;
}

Report cs336::bench::makeAttentionReport(llvm::ArrayRef<AttentionRow> rows, json::Object context) {
  return {std::move(context), {{"attention", "", getAttentionColumns(rows, getVariants(rows)), rows}}, {}};
}
