//===- ModelReport.cpp - Measured models as rows --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelReport.h"

#include "cs336/Bench/Report/ByteSize.h"
#include "cs336/Bench/Timing/Statistics.h"
#include "cs336/Frontend/StepFlops.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <optional>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

std::optional<std::string> cs336::bench::describeMemoryMismatch(const Measurement &measurement) {
  if (!measurement.deviceMemoryBytes)
    return std::nullopt;
  // Models of 0.1 to 3.4 billion parameters have 2 to 34 MiB beside the plan on an H200, and of 12.8 billion 105.
  int64_t usual = std::max(int64_t(64) << 20, measurement.memoryBytes / 128);
  int64_t unplanned = *measurement.deviceMemoryBytes - measurement.memoryBytes;
  if (unplanned >= 0 && unplanned <= usual)
    return std::nullopt;
  return llvm::formatv("by the device's own count {0} are in use, and the plan has {1}: {2}",
                       formatBytes(*measurement.deviceMemoryBytes), formatBytes(measurement.memoryBytes),
                       unplanned < 0 ? "another program on the GPU gave memory back meanwhile"
                                     : "other programs on the GPU, or memory that no plan holds")
      .str();
}

std::string cs336::bench::describeFusion(Fusion level, const PipelineVariant &pipeline) {
  if (!pipeline.added.empty() && pipeline.added != "none")
    return "with " + pipeline.added;
  return level == Fusion::None ? "unfused" : ("fusion " + stringifyFusion(level)).str();
}

std::string cs336::bench::describeSize(const TransformerConfig &config) {
  for (llvm::StringRef name : TransformerConfig::getSizeNames()) {
    TransformerConfig named;
    llvm::cantFail(named.setSize(name));
    if (named.dModel == config.dModel && named.dFF == config.dFF && named.numLayers == config.numLayers &&
        named.numHeads == config.numHeads)
      return name.str();
  }
  return llvm::formatv("d{0} ff{1} L{2} h{3}", config.dModel, config.dFF, config.numLayers, config.numHeads);
}

/// The same model, whatever it is compiled to and computes.
static bool isSameModel(const ModelRow &a, const ModelRow &b) {
  const TransformerConfig &left = a.description.transformer, &right = b.description.transformer;
  bool hasEqualFields = llvm::all_of(TransformerConfig::getIntegerFields(),
                                     [&](const auto &field) { return left.*field.member == right.*field.member; });
  return hasEqualFields && left.ropeTheta == right.ropeTheta && a.description.dtype == b.description.dtype &&
         a.measurement.warmup == b.measurement.warmup;
}

llvm::StringRef cs336::bench::getFailureText(const absl::Status &status) {
  if (absl::IsResourceExhausted(status))
    return "OOM";
  return absl::IsUnimplemented(status) ? "unsupported" : "";
}

/// The mean time of the forward pass of the same model, if it was measured too.
static std::optional<double> findForwardMean(const ModelRow &row, llvm::ArrayRef<ModelRow> rows) {
  if (row.description.mode != Mode::ForwardBackward)
    return std::nullopt;
  for (const ModelRow &other : rows)
    if (other.description.mode == Mode::Forward && other.computeType == row.computeType && other.fusion == row.fusion &&
        other.measurement.status.ok() && isSameModel(row, other))
      return computeStatistics(other.measurement.stepMilliseconds).mean;
  return std::nullopt;
}

/// By which factor the row's median is below that of the same step of another row, which `isBase` finds; nothing of the
/// row itself, and where that was not measured.
static Cell makeSpeedUp(const ModelRow &row, llvm::ArrayRef<ModelRow> rows,
                        llvm::function_ref<bool(const ModelRow &)> isBase) {
  if (isBase(row))
    return Cell::empty();
  for (const ModelRow &other : rows)
    if (isBase(other) && other.description.mode == row.description.mode && other.measurement.status.ok() &&
        isSameModel(row, other))
      return Cell::number(computeStatistics(other.measurement.stepMilliseconds).median /
                              computeStatistics(row.measurement.stepMilliseconds).median,
                          2);
  return Cell::empty();
}

/// In float32, all else being equal. In a ladder types are not all that differs.
static Cell makeTypeSpeedUp(const ModelRow &row, llvm::ArrayRef<ModelRow> rows) {
  return makeSpeedUp(row, rows, [&](const ModelRow &other) {
    return other.computeType == ComputeType::FP32 && other.fusion == row.fusion && row.pipeline.added.empty() &&
           other.pipeline.added.empty();
  });
}

/// Over no fusion, or the foot of the row's ladder.
static Cell makeFusionSpeedUp(const ModelRow &row, llvm::ArrayRef<ModelRow> rows) {
  bool isRung = !row.pipeline.added.empty();
  return makeSpeedUp(row, rows, [&](const ModelRow &other) {
    if (isRung)
      return other.pipeline.added == "none" && other.pipeline.ladder == row.pipeline.ladder;
    return other.pipeline.added.empty() && other.fusion == Fusion::None && other.computeType == row.computeType;
  });
}

/// The variants of PyTorch that were measured, in order.
static std::vector<std::string> getVariants(llvm::ArrayRef<ModelRow> rows) {
  std::vector<std::string> variants;
  for (const ModelRow &row : rows)
    for (const PeerMeasurement &peer : row.measurement.peers)
      if (!llvm::is_contained(variants, peer.variant))
        variants.push_back(peer.variant);
  return variants;
}

static std::vector<Report::Column> getColumns(llvm::ArrayRef<std::string> variants, bool perStep) {
  std::vector<Report::Column> columns{{"size", "size"},
                                      {"params (M)", "parameters_millions"},
                                      {"d_model", "d_model", true},
                                      {"d_ff", "d_ff", true},
                                      {"num_layers", "num_layers", true},
                                      {"num_heads", "num_heads", true},
                                      {"vocab_size", "vocab_size", true},
                                      {"batch", "batch_size"},
                                      {"context", "context_length"},
                                      {"built in", "build_dtype"},
                                      {"dtype", "dtype"},
                                      {"fusion", "fusion"},
                                      {"ladder", "ladder", true},
                                      {"added", "added"},
                                      {"mode", "mode"},
                                      {"warm-up", "warmup"},
                                      {"steps", "steps"},
                                      {"mean (ms)", "mean_ms"},
                                      {"std (ms)", "std_ms"},
                                      {"median (ms)", "median_ms"},
                                      {"min (ms)", "min_ms"},
                                      {"std/mean", "std_over_mean"},
                                      {"event (ms)", "event_ms"},
                                      {"kernels (ms)", "kernels_ms"},
                                      {"launches", "launches"},
                                      {"gap (µs/node)", "gap_us_per_node"},
                                      {"idle (µs/node)", "idle_us_per_node"},
                                      {"backward (ms)", "backward_ms"},
                                      {"backward/forward", "backward_over_forward"},
                                      {"over fp32", "dtype_speedup"},
                                      {"over unfused", "fusion_speedup"},
                                      {"tokens/s", "tokens_per_second"},
                                      {"GFLOP/s", "gflops_per_second"},
                                      {"MFU", "mfu"},
                                      {"peak (GFLOP/s)", "peak_gflops_per_second", true},
                                      {"memory (MiB)", "memory_mib"},
                                      {"device memory (MiB)", "device_memory_mib"},
                                      {"compile (s)", "compile_seconds"},
                                      {"load (s)", "load_seconds"},
                                      {"distinct kernels", "distinct_kernels", true},
                                      {"steps (ms)", "step_ms", !perStep},
                                      {"event steps (ms)", "event_step_ms", true}};
  for (const std::string &variant : variants)
    llvm::append_values(columns, Report::Column{"torch " + variant + " (ms)", "torch_" + variant + "_median_ms"},
                        Report::Column{"ratio", "torch_" + variant + "_ratio"},
                        Report::Column{"values differ by", "torch_" + variant + "_difference"},
                        Report::Column{"torch first step (s)", "torch_" + variant + "_first_step_seconds", true},
                        Report::Column{"torch memory (MiB)", "torch_" + variant + "_device_mib", true});
  columns.push_back({"status", "status", true});
  return columns;
}

/// The columns of one variant.
static void appendPeer(const ModelRow &row, llvm::StringRef variant, std::vector<Cell> &cells) {
  const Measurement &measurement = row.measurement;
  auto peer = llvm::find_if(measurement.peers, [&](const PeerMeasurement &peer) { return peer.variant == variant; });
  if (peer == measurement.peers.end() || !peer->status.ok()) {
    Cell time = peer == measurement.peers.end() ? Cell::empty() : Cell(getFailureText(peer->status).str(), nullptr);
    llvm::append_values(cells, time, Cell::empty(), Cell::empty(), Cell::empty(), Cell::empty());
    return;
  }
  Agreement agreement = compare(*measurement.values, peer->values, row.computeType);
  double median = computeStatistics(peer->stepMilliseconds).median;
  double ratio = median / computeStatistics(measurement.stepMilliseconds).median;
  std::string difference = llvm::formatv("loss {0:e1}", agreement.loss);
  if (agreement.gradNorm)
    difference += llvm::formatv(", gradient {0:e1}", *agreement.gradNorm);
  json::Object differences{{"loss", agreement.loss},
                           {"grad_norm", agreement.gradNorm ? json::Value(*agreement.gradNorm) : nullptr}};
  llvm::append_values(cells, Cell::number(median, 3),
                      agreement.isClose ? Cell::number(ratio, 2) : Cell("mismatch", nullptr),
                      Cell(difference, std::move(differences)), Cell::number(peer->firstStepSeconds, 2),
                      peer->deviceMiB ? Cell::number(*peer->deviceMiB, 1) : Cell::empty());
}

static Cell makeList(llvm::ArrayRef<double> numbers, int digits) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(
      numbers, stream, [&](double number) { stream << llvm::format("%.*f", digits, number); }, " ");
  return {std::move(text), json::Array(numbers)};
}

static Cell makeMiB(std::optional<int64_t> bytes) {
  return bytes ? Cell::number(static_cast<double>(*bytes) / 1048576.0, 1) : Cell::empty();
}

/// A GPU's own time of a step beside the sum over its kernels: event, kernels, launches, gap; and the time between
/// kernels while they were profiled.
static void appendDeviceTimes(const Measurement &measurement, std::vector<Cell> &cells) {
  if (measurement.deviceMilliseconds.empty()) {
    cells.resize(cells.size() + 5, Cell::empty());
    return;
  }
  double event = computeStatistics(measurement.deviceMilliseconds).median;
  cells.push_back(Cell::number(event, 3));
  std::optional<GraphWork> work = measurement.profile ? measurement.profile->getGraphWork() : std::nullopt;
  if (!work || work->nodes == 0) {
    cells.resize(cells.size() + 4, Cell::empty());
    return;
  }
  auto steps = static_cast<double>(measurement.deviceMilliseconds.size());
  double kernels = static_cast<double>(work->nanoseconds) * 1e-6 / steps;
  double launches = static_cast<double>(work->nodes) / steps;
  llvm::append_values(
      cells, Cell::number(kernels, 3), Cell::number(launches, 0), Cell::number((event - kernels) * 1e3 / launches, 3),
      Cell::number(static_cast<double>(work->idleNanoseconds) * 1e-3 / static_cast<double>(work->nodes), 3));
}

/// What is known of a measurement whether or not it succeeded, and every step's time.
static void appendResources(const Measurement &measurement, std::vector<Cell> &cells) {
  std::optional<int64_t> planned = measurement.memoryBytes ? std::optional(measurement.memoryBytes) : std::nullopt;
  llvm::append_values(cells, makeMiB(planned), makeMiB(measurement.deviceMemoryBytes),
                      Cell::number(measurement.compileSeconds, 2),
                      measurement.loadSeconds ? Cell::number(*measurement.loadSeconds, 2) : Cell::empty(),
                      Cell::integer(measurement.numKernels));
  for (llvm::ArrayRef<double> times :
       {llvm::ArrayRef(measurement.stepMilliseconds), llvm::ArrayRef(measurement.deviceMilliseconds)})
    cells.push_back(times.empty() || !measurement.status.ok() ? Cell::empty() : makeList(times, 3));
}

static std::vector<Cell> makeRow(const ModelRow &row, llvm::ArrayRef<ModelRow> rows,
                                 llvm::ArrayRef<std::string> variants) {
  const TransformerConfig &config = row.description.transformer;
  const Measurement &measurement = row.measurement;
  std::vector<Cell> cells{
      describeSize(config),
      Cell::number(static_cast<double>(config.getParameterCount()) / 1e6, 3),
      Cell::integer(config.dModel),
      Cell::integer(config.dFF),
      Cell::integer(config.numLayers),
      Cell::integer(config.numHeads),
      Cell::integer(config.vocabSize),
      Cell::integer(config.batchSize),
      Cell::integer(config.contextLength),
      Cell(row.description.dtype == BuildType::F64 ? "f64" : "f32"),
      Cell(stringifyComputeType(row.computeType).str()),
      Cell(stringifyFusion(row.fusion).str()),
      Cell::optional(row.pipeline.ladder),
      Cell::optional(row.pipeline.added),
      Cell(stringifyMode(row.description.mode).str()),
      Cell::integer(measurement.warmup),
      Cell::integer(measurement.stepMilliseconds.size()),
  };
  if (!measurement.status.ok()) {
    constexpr size_t kTimes = 18; // Columns from the mean to the peak.
    cells.emplace_back(getFailureText(measurement.status).str(), nullptr);
    cells.resize(cells.size() + kTimes - 1, Cell::empty());
    appendResources(measurement, cells);
    for (const std::string &variant : variants)
      appendPeer(row, variant, cells);
    cells.push_back(Cell(std::string(measurement.status.message())));
    return cells;
  }

  Statistics statistics = computeStatistics(measurement.stepMilliseconds);
  double seconds = statistics.mean / 1e3;
  double tokens = static_cast<double>(config.batchSize) * static_cast<double>(config.contextLength);
  std::optional<double> forward = findForwardMean(row, rows);
  double backward = forward ? statistics.mean - *forward : 0;
  double rate = getModelFlops(config, row.description.mode) / seconds;
  llvm::append_values(cells, Cell::number(statistics.mean, 3), Cell::number(statistics.std, 3),
                      Cell::number(statistics.median, 3), Cell::number(statistics.min, 3),
                      Cell::number(statistics.mean > 0 ? statistics.std / statistics.mean : 0, 4));
  appendDeviceTimes(measurement, cells);
  llvm::append_values(cells, forward ? Cell::number(backward, 3) : Cell::empty(),
                      forward ? Cell::number(backward / *forward, 2) : Cell::empty(), makeTypeSpeedUp(row, rows),
                      makeFusionSpeedUp(row, rows), Cell::number(tokens / seconds, 1), Cell::number(rate / 1e9, 2),
                      row.peakRate ? Cell::number(rate / *row.peakRate, 3) : Cell::empty(),
                      row.peakRate ? Cell::number(*row.peakRate / 1e9, 1) : Cell::empty());
  appendResources(measurement, cells);
  for (const std::string &variant : variants)
    appendPeer(row, variant, cells);
  cells.push_back(Cell("ok"));
  return cells;
}

Report cs336::bench::makeModelReport(llvm::ArrayRef<ModelRow> rows, json::Object context, bool perStep) {
  std::vector<std::string> variants = getVariants(rows);
  Report report(getColumns(variants, perStep), std::move(context));
  for (const ModelRow &row : rows)
    report.addRow(makeRow(row, rows, variants));
  return report;
}
