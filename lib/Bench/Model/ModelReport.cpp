//===- ModelReport.cpp - Measured models as rows --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelReport.h"

#include "cs336/Bench/Command/ModelColumns.h"
#include "cs336/Bench/Model/ModelMemory.h"
#include "cs336/Bench/Model/ModelProfileData.h"
#include "cs336/Bench/Model/ModelProfileTables.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Profile/Overhead.h"
#include "cs336/Bench/Timing/RangedCells.h"
#include "cs336/Bench/Timing/Statistics.h"
#include "cs336/Frontend/StepFlops.h"
#include "cs336/Support/ByteSize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <optional>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

std::optional<std::string> cs336::bench::describeMemoryMismatch(const Measurement &measurement) {
  if (!measurement.deviceMemory)
    return std::nullopt;
  // On an H200, models with 0.1 to 3.4 billion parameters use 2 to 34 MiB more than planned, and a model with 12.8
  // billion parameters 105 MiB.
  int64_t usual = std::max(int64_t(64) << 20, measurement.memoryBytes / 128);
  int64_t used = measurement.deviceMemory->used, unplanned = used - measurement.memoryBytes;
  if (unplanned >= 0 && unplanned <= usual)
    return std::nullopt;
  return llvm::formatv("by the device's own count {0} are in use, and the plan has {1}: {2}", formatBytes(used),
                       formatBytes(measurement.memoryBytes),
                       unplanned < 0 ? "another program on the GPU freed memory meanwhile"
                                     : "other programs on the GPU, or memory that the plan does not include")
      .str();
}

/// Returns whether both rows measure the same model, with the same recomputation, in any mode and with any other
/// compilation options.
static bool isSameModel(const ModelRow &a, const ModelRow &b) {
  const TransformerConfig &left = a.description.transformer, &right = b.description.transformer;
  bool hasEqualFields = llvm::all_of(TransformerConfig::getIntegerFields(),
                                     [&](const auto &field) { return left.*field.member == right.*field.member; });
  bool recomputesTheSame = llvm::all_of(llvm::ArrayRef({"checkpoint", "memory-budget"}), [&](const char *option) {
    return findOption(a.pipeline, option) == findOption(b.pipeline, option);
  });
  return hasEqualFields && recomputesTheSame && left.ropeTheta == right.ropeTheta &&
         a.description.dtype == b.description.dtype && a.measurement.warmup == b.measurement.warmup;
}

/// Returns the mean time of the forward pass of the same model, if it was measured too.
static std::optional<Ranged> findForward(const ModelRow &row, llvm::ArrayRef<ModelRow> rows) {
  if (row.description.mode != Mode::ForwardBackward)
    return std::nullopt;
  for (const ModelRow &other : rows)
    if (other.description.mode == Mode::Forward && other.computeType == row.computeType && other.fusion == row.fusion &&
        other.measurement.status.ok() && isSameModel(row, other))
      return getRangedMean(other.measurement.stepMilliseconds);
  return std::nullopt;
}

/// Returns the ratio of another row's median to the row's: the row with the same step for which `isBase` returns true.
/// Returns nullopt if that is the row itself, or was not measured.
static std::optional<Ranged> getSpeedUp(const ModelRow &row, llvm::ArrayRef<ModelRow> rows,
                                        llvm::function_ref<bool(const ModelRow &)> isBase) {
  if (isBase(row))
    return std::nullopt;
  for (const ModelRow &other : rows)
    if (isBase(other) && other.description.mode == row.description.mode && other.measurement.status.ok() &&
        isSameModel(row, other))
      return divide(getRangedMedian(other.measurement.stepMilliseconds),
                    getRangedMedian(row.measurement.stepMilliseconds));
  return std::nullopt;
}

/// Returns the speed-up over float32 with the same settings. Rungs of a ladder differ in more than types.
static std::optional<Ranged> getTypeSpeedUp(const ModelRow &row, llvm::ArrayRef<ModelRow> rows) {
  return getSpeedUp(row, rows, [&](const ModelRow &other) {
    return other.computeType == ComputeType::FP32 && other.fusion == row.fusion && row.pipeline.added.empty() &&
           other.pipeline.added.empty();
  });
}

/// Returns the speed-up over the row without fusion, or over the first rung of the row's ladder.
static std::optional<Ranged> getFusionSpeedUp(const ModelRow &row, llvm::ArrayRef<ModelRow> rows) {
  bool isRung = !row.pipeline.added.empty();
  return getSpeedUp(row, rows, [&](const ModelRow &other) {
    if (isRung)
      return other.pipeline.added == "none" && other.pipeline.ladder == row.pipeline.ladder;
    return other.pipeline.added.empty() && other.fusion == Fusion::None && other.computeType == row.computeType;
  });
}

/// Returns the variants of PyTorch that were measured, in order.
static std::vector<std::string> getVariants(llvm::ArrayRef<ModelRow> rows) {
  std::vector<std::string> variants;
  for (const ModelRow &row : rows)
    for (const PeerMeasurement &peer : row.measurement.peers)
      if (!llvm::is_contained(variants, peer.variant))
        variants.push_back(peer.variant);
  return variants;
}

namespace {
/// The time of a step by the GPU's clock, and the sum over its kernels, in milliseconds per step.
struct KernelTimes {
  double event, kernels, launches, idleMicroseconds;
  /// Means over the profiled steps: from the start of the first kernel to the end of the last, and by events.
  double range;
  std::optional<double> profiledEvent;
};
} // namespace

/// Returns fewer steps than were timed if the profile was interrupted.
static size_t getNumProfiledSteps(const Measurement &measurement) {
  return measurement.profiledMilliseconds.empty() ? measurement.stepMilliseconds.size()
                                                  : measurement.profiledMilliseconds.size();
}

/// Returns nullopt if the row has no profile of a GPU.
static std::optional<KernelTimes> getKernelTimes(const Measurement &measurement) {
  if (measurement.deviceMilliseconds.empty() || !measurement.profile || !measurement.profile->graphWork)
    return std::nullopt;
  const GraphWork &work = *measurement.profile->graphWork;
  if (work.nodes == 0)
    return std::nullopt;
  auto steps = static_cast<double>(getNumProfiledSteps(measurement)), nodes = static_cast<double>(work.nodes);
  return KernelTimes{computeStatistics(measurement.deviceMilliseconds).median,
                     static_cast<double>(work.nanoseconds) * 1e-6 / steps,
                     nodes / steps,
                     static_cast<double>(work.idleNanoseconds) * 1e-3 / nodes,
                     static_cast<double>(work.rangeNanoseconds) * 1e-6 / steps,
                     measurement.profiledMilliseconds.empty()
                         ? std::nullopt
                         : std::optional(computeStatistics(measurement.profiledMilliseconds).mean)};
}

/// Returns the sum over all kernels, or the commands of the CPU, in milliseconds per step. Returns nullopt if the row
/// has no profile, or nothing ran.
static std::optional<double> getKernelSum(const Measurement &measurement) {
  if (std::optional<KernelTimes> times = getKernelTimes(measurement))
    return times->kernels;
  if (!measurement.profile || measurement.profile->isEmpty() || measurement.profiledMilliseconds.empty())
    return std::nullopt;
  int64_t nanoseconds = 0;
  for (const PhaseFacts &phase : computePhaseFacts(*measurement.profile))
    nanoseconds += phase.nanoseconds;
  return static_cast<double>(nanoseconds) * 1e-6 / static_cast<double>(measurement.profiledMilliseconds.size());
}

using Columns = std::vector<Column<ModelRow>>;

/// Builds a column that is empty for rows without a measurement.
static Column<ModelRow> makeNumber(std::string title, std::string key, int digits,
                                   std::function<std::optional<double>(const ModelRow &)> get,
                                   Show show = Show::Result) {
  auto extract = [get = std::move(get), digits](const ModelRow &row) {
    return row.measurement.status.ok() ? Cell::number(get(row), digits) : Cell::empty();
  };
  return {std::move(title), std::move(key), std::move(extract), show};
}

static Column<ModelRow> makeStatistic(std::string title, std::string key, double Statistics::*member,
                                      Show show = Show::Result) {
  auto get = [member](const ModelRow &row) { return computeStatistics(row.measurement.stepMilliseconds).*member; };
  return makeNumber(std::move(title), std::move(key), 3, get, show);
}

static double getSeconds(const ModelRow &row) { return computeStatistics(row.measurement.stepMilliseconds).mean / 1e3; }

double cs336::bench::getFlopsPerSecond(const ModelRow &row) {
  return getModelFlops(row.description.transformer, row.description.mode) / getSeconds(row);
}

/// The columns with the time of every step, by the host's clock and by the GPU's.
static constexpr const char *kStepsKey = "step_ms", *kEventStepsKey = "event_step_ms";

/// Appends the host's times of the timed steps. If a row has none, the column of the mean contains the reason.
static void appendHostTimes(Columns &columns) {
  columns.push_back({"mean (ms)", "mean_ms", [](const ModelRow &row) {
                       if (!row.measurement.status.ok())
                         return Cell::note(getFailureText(row.measurement.status));
                       return Cell::number(computeStatistics(row.measurement.stepMilliseconds).mean, 3);
                     }});
  columns.back().samples = {kStepsKey};
  columns.push_back(makeStatistic("std (ms)", "std_ms", &Statistics::std));
  columns.push_back(makeStatistic("median (ms)", "median_ms", &Statistics::median));
  columns.back().samples = {kStepsKey};
  columns.push_back(makeStatistic("min (ms)", "min_ms", &Statistics::min, Show::OnRequest));
  auto getSpread = [](const ModelRow &row) {
    Statistics statistics = computeStatistics(row.measurement.stepMilliseconds);
    return statistics.mean > 0 ? statistics.std / statistics.mean : 0;
  };
  columns.push_back(makeNumber("std/mean", "std_over_mean", 4, getSpread, Show::OnRequest));
}

/// Appends a GPU's own times, and the time between kernels while they were profiled.
static void appendDeviceTimes(Columns &columns) {
  using Number = std::optional<double>;
  auto getEvent = [](const ModelRow &row) -> Number {
    const std::vector<double> &times = row.measurement.deviceMilliseconds;
    return times.empty() ? Number() : computeStatistics(times).median;
  };
  auto makeTime = [](std::string title, std::string key, int digits, double (*get)(const KernelTimes &)) {
    return makeNumber(std::move(title), std::move(key), digits, [get](const ModelRow &row) -> Number {
      std::optional<KernelTimes> times = getKernelTimes(row.measurement);
      return times ? Number(get(*times)) : Number();
    });
  };
  columns.push_back(makeNumber("event (ms)", "event_ms", 3, getEvent));
  columns.back().samples = {kEventStepsKey};
  columns.push_back(makeNumber("kernels (ms)", "kernels_ms", 3,
                               [](const ModelRow &row) -> Number { return getKernelSum(row.measurement); }));
  columns.push_back(makeTime("range (ms)", "range_ms", 3, [](const KernelTimes &times) { return times.range; }));
  columns.push_back(makeNumber(
      "profiled event (ms)", "profiled_event_ms", 3,
      [](const ModelRow &row) {
        std::optional<KernelTimes> times = getKernelTimes(row.measurement);
        return times ? times->profiledEvent : std::nullopt;
      },
      Show::OnRequest));
  columns.push_back(makeNumber(
      "range/event", "range_over_event", 4,
      [](const ModelRow &row) {
        std::optional<KernelTimes> times = getKernelTimes(row.measurement);
        return times && times->profiledEvent ? Number(times->range / *times->profiledEvent) : Number();
      },
      Show::OnRequest));
  columns.push_back(makeTime("launches", "launches", 0, [](const KernelTimes &times) { return times.launches; }));
  columns.push_back(makeTime("gap (µs/node)", "gap_us_per_node", 3, [](const KernelTimes &times) {
    return (times.event - times.kernels) * 1e3 / times.launches;
  }));
  columns.push_back(makeTime("idle (µs/node)", "idle_us_per_node", 3,
                             [](const KernelTimes &times) { return times.idleMicroseconds; }));
}

/// Comparisons with other rows: the time that the backward pass adds, and speed-ups.
static void appendComparisons(Columns &columns, llvm::ArrayRef<ModelRow> rows) {
  using Number = std::optional<Ranged>;
  auto getBackward = [rows](const ModelRow &row) -> Number {
    Number forward = row.measurement.status.ok() ? findForward(row, rows) : Number();
    return forward ? Number(subtract(getRangedMean(row.measurement.stepMilliseconds), *forward)) : Number();
  };
  auto getRatio = [rows, getBackward](const ModelRow &row) -> Number {
    Number backward = getBackward(row);
    return backward ? Number(divide(*backward, *findForward(row, rows))) : Number();
  };
  auto appendSpeedUp = [&](std::string title, const std::string &key, auto get) {
    appendRatio<ModelRow>(columns, std::move(title), key, 2, [rows, get](const ModelRow &row) {
      return row.measurement.status.ok() ? get(row, rows) : Number();
    });
  };
  columns.push_back({"backward (ms)", "backward_ms",
                     [getBackward](const ModelRow &row) { return makeDifference(getBackward(row), 3); }});
  appendRatio<ModelRow>(columns, "backward/forward", "backward_over_forward", 2, getRatio, Show::OnRequest);
  appendSpeedUp("over fp32", "dtype_speedup", getTypeSpeedUp);
  appendSpeedUp("over unfused", "fusion_speedup", getFusionSpeedUp);
}

/// Compares the two clocks of a GPU's profiled steps. Returns nullopt unless kernels were profiled.
static std::optional<std::string> describeRange(const Measurement &measurement) {
  std::optional<KernelTimes> times = getKernelTimes(measurement);
  if (!times || !times->profiledEvent)
    return std::nullopt;
  return llvm::formatv("kernels and the gaps between them take {0:f3} ms of the {1:f3} ms of a profiled step by events "
                       "({2:f1} %)",
                       times->range, *times->profiledEvent, 100 * times->range / *times->profiledEvent)
      .str();
}

/// Appends the numbers from profiles.
static void appendProfileFacts(Columns &columns) {
  columns.push_back({"profiled steps", "profiled_steps",
                     [](const ModelRow &row) {
                       return row.measurement.profile
                                  ? Cell::integer(static_cast<int64_t>(getNumProfiledSteps(row.measurement)))
                                  : Cell::empty();
                     },
                     Show::OnRequest, Role::Result}); // Follows from the flags, unless it was interrupted.
  using Longest = std::optional<ProfileFacts::Longest>;
  columns.push_back(makeNumber("GEMMs (%)", "gemm_percent", 1, [](const ModelRow &row) -> std::optional<double> {
    const std::optional<RunProfile> &profile = row.measurement.profile;
    return profile ? std::optional(100 * computeProfileFacts(*profile).gemmShare) : std::nullopt;
  }));
  auto add = [&](std::string title, std::string key, Longest ProfileFacts::*member) {
    columns.push_back({std::move(title), std::move(key),
                       [member](const ModelRow &row) {
                         const std::optional<RunProfile> &profile = row.measurement.profile;
                         Longest kernel = profile ? computeProfileFacts(*profile).*member : Longest();
                         return kernel ? Cell(kernel->name) : Cell::empty();
                       },
                       Show::OnRequest});
  };
  add("longest kernel", "longest_kernel", &ProfileFacts::longest);
  add("longest outside GEMMs", "longest_outside_gemms", &ProfileFacts::longestOutsideGemms);
  appendRatio<ModelRow>(
      columns, "profiled/step", "profiled_over_step", 3,
      [](const ModelRow &row) -> std::optional<Ranged> {
        const Measurement &measurement = row.measurement;
        if (!measurement.profile)
          return std::nullopt;
        return getProfiledOverStep(measurement.profiledMilliseconds, measurement.getUnprofiledMilliseconds());
      },
      Show::OnRequest);
  llvm::append_range(columns, getAttentionPartColumns());
}

static void appendRates(Columns &columns) {
  using Number = std::optional<double>;
  columns.push_back(makeNumber("tokens/s", "tokens_per_second", 1, [](const ModelRow &row) {
    const TransformerConfig &config = row.description.transformer;
    return static_cast<double>(config.batchSize) * static_cast<double>(config.contextLength) / getSeconds(row);
  }));
  columns.push_back(makeNumber(
      "GFLOP/s", "gflops_per_second", 2, [](const ModelRow &row) { return getFlopsPerSecond(row) / 1e9; },
      Show::OnRequest));
  columns.push_back({"MFU", "mfu", [](const ModelRow &row) {
                       return row.measurement.status.ok() ? makeUtilization(getFlopsPerSecond(row), row.peakRate)
                                                          : Cell::empty();
                     }});
  columns.push_back(makeNumber(
      "peak (GFLOP/s)", "peak_gflops_per_second", 1,
      [](const ModelRow &row) { return row.peakRate ? Number(*row.peakRate / 1e9) : Number(); }, Show::OnRequest));
}

/// Returns false if the program was not compiled: a memory budget may be below the least that it needs.
static bool isPlanned(const ModelRow &row) { return row.measurement.prediction.bytes != 0; }

/// Appends the step as it was planned. Failed measurements have it too. Tables show it beside the measurement if the
/// rows compare recomputations, whose effect the plan predicts.
static void appendPrediction(Columns &columns, llvm::ArrayRef<ModelRow> rows) {
  bool recomputes = llvm::any_of(rows, [](const ModelRow &row) {
    return findOption(row.pipeline, "checkpoint") || findOption(row.pipeline, "memory-budget");
  });
  Show show = recomputes ? Show::Result : Show::OnRequest;
  columns.push_back(
      {"predicted on", "predicted_on",
       [](const ModelRow &row) { return isPlanned(row) ? Cell(row.measurement.prediction.device) : Cell::empty(); },
       Show::OnRequest});
  columns.push_back({"predicted (ms)", "predicted_ms",
                     [](const ModelRow &row) {
                       return isPlanned(row) ? Cell::number(row.measurement.prediction.seconds * 1e3, 3)
                                             : Cell::empty();
                     },
                     show});
  columns.push_back({"planned (MiB)", "planned_mib",
                     [](const ModelRow &row) {
                       return isPlanned(row) ? Cell::mebibytes(row.measurement.prediction.bytes) : Cell::empty();
                     },
                     show});
}

/// Fields that failed measurements have too, and the time of every step.
static void appendResources(Columns &columns, bool perStep) {
  auto add = [&](std::string title, std::string key, Cell (*get)(const Measurement &), Show show) {
    columns.push_back(
        {std::move(title), std::move(key), [get](const ModelRow &row) { return get(row.measurement); }, show});
  };
  using M = Measurement;
  add(
      "memory (MiB)", "memory_mib",
      [](const M &m) { return Cell::mebibytes(m.memoryBytes ? std::optional(m.memoryBytes) : std::nullopt); },
      Show::Result);
  llvm::append_range(columns, getMemoryColumns(Show::OnRequest));
  add("compile (s)", "compile_seconds", [](const M &m) { return Cell::number(m.compileSeconds, 2); }, Show::OnRequest);
  add("load (s)", "load_seconds", [](const M &m) { return Cell::number(m.loadSeconds, 2); }, Show::OnRequest);
  add("distinct kernels", "distinct_kernels", [](const M &m) { return Cell::integer(m.numKernels); }, Show::OnRequest);
  auto addTimes = [&](std::string title, std::string key, std::vector<double> M::*times, Show show) {
    auto extract = [times](const ModelRow &row) {
      const std::vector<double> &steps = row.measurement.*times;
      return steps.empty() || !row.measurement.status.ok() ? Cell::empty() : Cell::list(steps, 3);
    };
    columns.push_back({std::move(title), std::move(key), extract, show});
  };
  addTimes("steps (ms)", kStepsKey, &M::stepMilliseconds, perStep ? Show::Text : Show::OnRequest);
  addTimes("event steps (ms)", kEventStepsKey, &M::deviceMilliseconds, Show::OnRequest);
}

/// Returns PyTorch's median over ours.
static Ranged getPeerRatio(const ModelRow &row, const PeerMeasurement &peer) {
  return divide(getRangedMedian(peer.stepMilliseconds), getRangedMedian(row.measurement.stepMilliseconds));
}

static bool isClose(const ModelRow &row, const PeerMeasurement &peer) {
  return compare(*row.measurement.values, peer.values, row.computeType).isClose;
}

/// Appends the columns of one variant of PyTorch. Where values disagree, the ratio is "mismatch".
static void appendPeer(Columns &columns, const std::string &variant) {
  auto find = [variant](const ModelRow &row) -> const PeerMeasurement * {
    const auto *peer = llvm::find_if(llvm::ArrayRef(row.measurement.peers),
                                     [&](const PeerMeasurement &peer) { return peer.variant == variant; });
    return peer == llvm::ArrayRef(row.measurement.peers).end() ? nullptr : peer;
  };
  using Get = Cell (*)(const ModelRow &, const PeerMeasurement &);
  auto add = [&](std::string title, llvm::StringRef key, Get get, Show show = Show::Result) {
    columns.push_back({std::move(title), "torch_" + variant + key.str(),
                       [find, get](const ModelRow &row) {
                         const PeerMeasurement *peer = find(row);
                         return peer && peer->status.ok() ? get(row, *peer) : Cell::empty();
                       },
                       show});
  };
  columns.push_back({variant + " (ms)", "torch_" + variant + "_median_ms", [find](const ModelRow &row) {
                       const PeerMeasurement *peer = find(row);
                       if (!peer || !peer->status.ok())
                         return peer ? makePeerFailure(peer->status) : Cell::empty();
                       return Cell::number(computeStatistics(peer->stepMilliseconds).median, 3);
                     }});
  add(variant + " ratio", "_ratio", [](const ModelRow &row, const PeerMeasurement &peer) {
    return isClose(row, peer) ? makeRatio(getPeerRatio(row, peer), 2) : Cell::note("mismatch");
  });
  add(
      variant + " ratio", "_ratio_interval",
      [](const ModelRow &row, const PeerMeasurement &peer) {
        return isClose(row, peer) ? makeInterval(getPeerRatio(row, peer)) : Cell::empty();
      },
      Show::Data);
  add("loss, grad differ by", "_difference", [](const ModelRow &row, const PeerMeasurement &peer) {
    Agreement agreement = compare(*row.measurement.values, peer.values, row.computeType);
    std::string text = llvm::formatv("{0:e1}", agreement.loss);
    if (agreement.gradNorm)
      text += llvm::formatv(", {0:e1}", *agreement.gradNorm);
    json::Value gradNorm = agreement.gradNorm ? json::Value(*agreement.gradNorm) : nullptr;
    return Cell(text, json::Object{{"loss", agreement.loss}, {"grad_norm", std::move(gradNorm)}});
  });
  add(
      "torch first step (s)", "_first_step_seconds",
      [](const ModelRow &, const PeerMeasurement &peer) { return Cell::number(peer.firstStepSeconds, 2); },
      Show::OnRequest);
  add(
      "torch memory (MiB)", "_device_mib",
      [](const ModelRow &, const PeerMeasurement &peer) { return Cell::number(peer.deviceMiB, 1); }, Show::OnRequest);
}

Columns cs336::bench::getModelColumns(llvm::ArrayRef<ModelRow> rows, llvm::ArrayRef<std::string> variants,
                                      bool perStep) {
  Columns columns = getModelSettings<ModelRow>();
  Columns shape = getModelShape<ModelRow>();
  columns.insert(columns.begin() + 2, shape.begin(), shape.end()); // The position after the size and its parameters.
  columns.push_back({"recomputed (%)", "recomputed_percent",
                     [](const ModelRow &row) {
                       double percent = 100 * row.measurement.recomputedShare;
                       return percent > 0 ? Cell::number(percent, 1) : Cell::empty();
                     },
                     Show::Setting, Role::Result}); // Follows from the flags, and changes with the compiler.
  columns.push_back(
      {"warm-up", "warmup", [](const ModelRow &row) { return Cell::integer(row.measurement.warmup); }, Show::Setting});
  columns.push_back(
      {"steps", "steps",
       [](const ModelRow &row) { return Cell::integer(static_cast<int64_t>(row.measurement.stepMilliseconds.size())); },
       Show::Setting, Role::Result}); // More steps measure the same.
  appendHostTimes(columns);
  appendPrediction(columns, rows);
  appendDeviceTimes(columns);
  appendProfileFacts(columns);
  appendComparisons(columns, rows);
  appendRates(columns);
  appendResources(columns, perStep);
  for (const std::string &variant : variants)
    appendPeer(columns, variant);
  columns.push_back({"status", "status",
                     [](const ModelRow &row) {
                       const absl::Status &status = row.measurement.status;
                       return Cell(status.ok() ? std::string("ok") : std::string(status.message()));
                     },
                     Show::OnRequest});
  llvm::append_range(columns, getProfileDataColumns());
  return columns;
}

std::string cs336::bench::describeModel(const ModelRow &row) {
  const TransformerConfig &config = row.description.transformer;
  return llvm::formatv("{0}, batch {1}, context {2}, {3}, {4}, {5}", describeSize(config), config.batchSize,
                       config.contextLength, stringifyComputeType(row.computeType),
                       describeFusion(row.fusion, row.pipeline), stringifyMode(row.description.mode));
}

Report cs336::bench::makeModelReport(llvm::ArrayRef<ModelRow> rows, json::Object context, bool perStep,
                                     const ProfileLayout &layout, bool hasMemoryTable) {
  Report report{std::move(context), {{"model", "", getModelColumns(rows, getVariants(rows), perStep), rows}}, {}};
  bool isSingle = llvm::count_if(rows, [](const ModelRow &row) { return row.measurement.profile.has_value(); }) == 1;
  if (hasMemoryTable)
    appendMemoryTable(report, rows);
  if (!layout.keys.empty())
    appendProfileTables(report, rows);
  for (auto [index, row] : llvm::enumerate(rows)) {
    const std::optional<RunProfile> &profile = row.measurement.profile;
    if (!profile || layout.keys.empty())
      continue;
    std::string title = llvm::formatv("{0} steps of {1}: ", getNumProfiledSteps(row.measurement), describeModel(row));
    appendProfile(report, isSingle ? "profile" : llvm::formatv("profile-{0}", index + 1).str(), title, *profile, layout,
                  row.ceilings);
    if (std::optional<std::string> range = describeRange(row.measurement))
      report.notes.push_back(*range);
    report.notes.push_back(
        describeOverhead(row.measurement.profiledMilliseconds, row.measurement.getUnprofiledMilliseconds()));
  }
  return report;
}
