//===- DDPReport.cpp - Tables of steps on several ranks -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/DDPReport.h"

#include "cs336/Bench/Command/ModelColumns.h"
#include "cs336/Bench/DDP/PlannedMemory.h"
#include "cs336/Bench/Model/StepValues.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Timing/RangedCells.h"
#include "cs336/Bench/Timing/Statistics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <optional>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

/// The columns with the time of every step, by the host's clock and by the GPU's.
static constexpr const char *kStepsKey = "step_ms", *kEventStepsKey = "event_step_ms";

/// Returns the mode: "bucket", or "torch fsdp" for a peer.
static std::string getModeName(const DDPRow &row) {
  return row.peer.empty() ? stringifyDistribution(row.exchange.mode).str() : "torch " + row.peer;
}

std::string cs336::bench::describeRow(const DDPRow &row) {
  const TransformerConfig &config = row.description.transformer;
  std::string text = llvm::formatv("{0}, batch {1}, context {2}, {3}, {4}, {5}", describeSize(config), config.batchSize,
                                   config.contextLength, stringifyComputeType(row.computeType),
                                   describeFusion(row.fusion, row.pipeline), getModeName(row));
  text += row.exchange.describeBucket();
  return text + llvm::formatv(", {0} {1}", row.ranks, row.ranks == 1 ? "rank" : "ranks").str();
}

bool cs336::bench::isSameModel(const DDPRow &a, const DDPRow &b) {
  const TransformerConfig &left = a.description.transformer, &right = b.description.transformer;
  bool hasEqualFields = llvm::all_of(TransformerConfig::getIntegerFields(),
                                     [&](const auto &field) { return left.*field.member == right.*field.member; });
  return hasEqualFields && left.ropeTheta == right.ropeTheta && a.description.dtype == b.description.dtype &&
         a.computeType == b.computeType;
}

ValueCheck cs336::bench::checkValues(const DDPRow &row, llvm::ArrayRef<DDPRow> rows) {
  // The negated comparison also finds NaN.
  if (!(row.measurement.spread == 0))
    return ValueCheck::RanksDiffer;
  for (const DDPRow &other : rows) {
    if (!other.measurement.status.ok() || other.ranks != row.ranks || !isSameModel(row, other))
      continue;
    const DDPMeasurement &own = row.measurement, &first = other.measurement;
    Agreement agreement = compare({own.loss, own.gradNorm}, {first.loss, first.gradNorm}, row.computeType);
    return agreement.isClose ? ValueCheck::Agree : ValueCheck::ModesDiffer;
  }
  return ValueCheck::Agree;
}

/// Returns whether both rows have the same pipeline, apart from the exchange.
static bool isSamePipeline(const DDPRow &a, const DDPRow &b) {
  return a.fusion == b.fusion && a.pipeline.options == b.pipeline.options;
}

/// Returns the row on one rank whose time the row's is compared with, or null.
static const DDPRow *findBaseline(const DDPRow &row, llvm::ArrayRef<DDPRow> rows) {
  if (!row.measurement.status.ok() || checkValues(row, rows) != ValueCheck::Agree)
    return nullptr;
  const auto *found = llvm::find_if(rows, [&](const DDPRow &other) {
    return other.ranks == 1 && other.peer == row.peer && other.measurement.status.ok() && isSameModel(row, other) &&
           (!row.peer.empty() || isSamePipeline(row, other));
  });
  return found == rows.end() ? nullptr : found;
}

/// Returns whether a variant of PyTorch stores as much per rank as a mode: all, parts of the optimizer's state, or
/// parts of parameters too.
static bool isCounterpart(llvm::StringRef variant, Distribution distribution) {
  if (variant == "fsdp")
    return distribution == Distribution::FSDP;
  if (variant == "zero")
    return distribution == Distribution::Zero1;
  return distribution < Distribution::Zero1;
}

/// Returns this program's fastest row that stores as much per rank as the peer's row, or null.
static const DDPRow *findCounterpart(const DDPRow &row, llvm::ArrayRef<DDPRow> rows) {
  const DDPRow *fastest = nullptr;
  if (row.peer.empty() || !row.measurement.status.ok() || checkValues(row, rows) != ValueCheck::Agree)
    return fastest;
  auto getMedian = [](const DDPRow &row) { return computeStatistics(row.measurement.stepMilliseconds).median; };
  for (const DDPRow &other : rows) {
    bool isComparable = other.peer.empty() && other.ranks == row.ranks && isSameModel(row, other) &&
                        (row.ranks == 1 || isCounterpart(row.peer, other.exchange.mode));
    if (isComparable && other.measurement.status.ok() && checkValues(other, rows) == ValueCheck::Agree &&
        (!fastest || getMedian(other) < getMedian(*fastest)))
      fastest = &other;
  }
  return fastest;
}

using Columns = std::vector<Column<DDPRow>>;
using Number = std::optional<double>;

/// Builds a column that is empty for rows without a measurement.
static Column<DDPRow> makeNumber(std::string title, std::string key, int digits,
                                 std::function<Number(const DDPMeasurement &)> get, Show show = Show::Result) {
  auto extract = [get = std::move(get), digits](const DDPRow &row) {
    return row.measurement.status.ok() ? Cell::number(get(row.measurement), digits) : Cell::empty();
  };
  return {std::move(title), std::move(key), std::move(extract), show};
}

/// Returns "OOM", "unsupported", or "failed" with the error as a footnote; "missing" for a peer that has failed.
static Cell makeFailure(const DDPRow &row) {
  const absl::Status &status = row.measurement.status;
  if (!row.peer.empty())
    return makePeerFailure(status);
  llvm::StringRef text = getFailureText(status);
  return text.empty() ? Cell::note("failed", std::string(status.message())) : Cell::note(text);
}

static void appendSettings(Columns &columns) {
  columns = getModelSettings<DDPRow>();
  Columns shape = getModelShape<DDPRow>();
  columns.insert(columns.begin() + 2, shape.begin(), shape.end()); // The position after the size and its parameters.
  columns.push_back({"system", "system",
                     [](const DDPRow &row) { return Cell(llvm::StringRef(row.peer.empty() ? "cs336" : "torch")); },
                     Show::OnRequest, Role::Setting});
  columns.push_back(
      {"distribute", "distribute", [](const DDPRow &row) { return Cell(getModeName(row)); }, Show::Setting});
  columns.push_back(
      {"bucket (MiB)", "bucket_mib", [](const DDPRow &row) { return row.exchange.makeBucketSize(); }, Show::Setting});
  columns.push_back({"ranks", "ranks", [](const DDPRow &row) { return Cell::integer(row.ranks); }, Show::Setting});
}

static void appendTimes(Columns &columns) {
  auto add = [&](std::string title, std::string key, double Statistics::*member, Show show = Show::Result) {
    columns.push_back(makeNumber(
        std::move(title), std::move(key), 3,
        [member](const DDPMeasurement &m) { return computeStatistics(m.stepMilliseconds).*member; }, show));
  };
  columns.push_back({"mean (ms)", "mean_ms", [](const DDPRow &row) {
                       if (!row.measurement.status.ok())
                         return makeFailure(row);
                       return Cell::number(computeStatistics(row.measurement.stepMilliseconds).mean, 3);
                     }});
  columns.back().samples = {kStepsKey};
  add("std (ms)", "std_ms", &Statistics::std);
  add("median (ms)", "median_ms", &Statistics::median);
  columns.back().samples = {kStepsKey};
  add("min (ms)", "min_ms", &Statistics::min, Show::OnRequest);
  columns.push_back(makeNumber("event (ms)", "event_ms", 3, [](const DDPMeasurement &m) {
    return m.deviceMilliseconds.empty() ? Number() : computeStatistics(m.deviceMilliseconds).median;
  }));
  columns.back().samples = {kEventStepsKey};
  columns.push_back({"tokens/s", "tokens_per_second", [](const DDPRow &row) {
                       if (!row.measurement.status.ok())
                         return Cell::empty();
                       const TransformerConfig &config = row.description.transformer;
                       double tokens = static_cast<double>(row.ranks * config.batchSize * config.contextLength);
                       return Cell::number(tokens * 1e3 / computeStatistics(row.measurement.stepMilliseconds).mean, 1);
                     }});
}

static void appendComparisons(Columns &columns, llvm::ArrayRef<DDPRow> rows) {
  auto getMedian = [](const DDPRow &row) { return getRangedMedian(row.measurement.stepMilliseconds); };
  appendRatio<DDPRow>(columns, "efficiency", "scaling_efficiency", 3, [=](const DDPRow &row) -> std::optional<Ranged> {
    const DDPRow *base = findBaseline(row, rows);
    return base && base != &row ? std::optional(divide(getMedian(*base), getMedian(row))) : std::nullopt;
  });
  appendRatio<DDPRow>(columns, "over cs336", "torch_over_cs336", 2, [=](const DDPRow &row) -> std::optional<Ranged> {
    const DDPRow *ours = findCounterpart(row, rows);
    return ours ? std::optional(divide(getMedian(row), getMedian(*ours))) : std::nullopt;
  });
  columns.push_back({"compared with", "compared_with",
                     [=](const DDPRow &row) {
                       const DDPRow *ours = findCounterpart(row, rows);
                       return ours ? Cell(getModeName(*ours)) : Cell::empty();
                     },
                     Show::OnRequest});
}

static Number getPercent(double part, double whole) { return whole > 0 ? Number(100 * part / whole) : Number(); }

static void appendCommunication(Columns &columns) {
  using Times = DDPMeasurement::Times;
  auto add = [&](std::string title, std::string key, int digits, Number (*get)(const Times &),
                 Show show = Show::Result) {
    columns.push_back(makeNumber(
        std::move(title), std::move(key), digits,
        [get](const DDPMeasurement &m) { return m.times ? get(*m.times) : Number(); }, show));
  };
  add("comm. (ms)", "communication_ms", 3, [](const Times &times) -> Number { return times.communication; });
  add("comm. (%)", "communication_percent", 1,
      [](const Times &times) -> Number { return getPercent(times.communication, times.step); });
  add("exposed (ms)", "exposed_ms", 3, [](const Times &times) -> Number { return times.exposed; });
  add("exposed (%)", "exposed_percent", 1,
      [](const Times &times) -> Number { return getPercent(times.exposed, times.step); });
  add("imbalance (ms)", "imbalance_ms", 3, [](const Times &times) -> Number { return times.imbalance; });
  add("compute (ms)", "compute_ms", 3, [](const Times &times) -> Number { return times.compute; });
  add(
      "profiled step (ms)", "profiled_step_ms", 3, [](const Times &times) -> Number { return times.step; },
      Show::OnRequest);
  columns.push_back({"collectives", "collectives", [](const DDPRow &row) {
                       return row.measurement.plan ? Cell::integer(row.measurement.exchange.collectives)
                                                   : Cell::empty();
                     }});
  columns.push_back({"sent (MiB)", "sent_mib", [](const DDPRow &row) {
                       return row.measurement.plan
                                  ? Cell::mebibytes(static_cast<int64_t>(row.measurement.exchange.bytes))
                                  : Cell::empty();
                     }});
  columns.push_back({"gathers", "gathers", [](const DDPRow &row) {
                       bool hasGathers = row.measurement.plan && row.measurement.exchange.gathers > 0;
                       return hasGathers ? Cell::integer(row.measurement.exchange.gathers) : Cell::empty();
                     }});
  auto addWaits = [&](std::string title, std::string key, int digits, double Times::*member) {
    columns.push_back(makeNumber(std::move(title), std::move(key), digits, [member](const DDPMeasurement &m) {
      return m.times && m.exchange.gathers > 0 ? Number((*m.times).*member) : Number();
    }));
  };
  addWaits("late gathers", "late_gathers", 1, &Times::lateGathers);
  addWaits("gather wait (ms)", "gather_wait_ms", 3, &Times::gatherWait);
  columns.push_back(makeNumber(
      "busbw (GB/s)", "busbw_gb_s", 3,
      [](const DDPMeasurement &m) -> Number {
        // 10^9 bytes per second are 10^6 per millisecond.
        return m.times && m.times->communication > 0 ? Number(m.exchange.bytes / m.times->communication / 1e6)
                                                     : Number();
      },
      Show::OnRequest));
}

static void appendMemory(Columns &columns) {
  columns.push_back({"memory (MiB)", "memory_mib", [](const DDPRow &row) {
                       const std::optional<ModelPlan> &plan = row.measurement.plan;
                       return plan ? Cell::mebibytes(plan->getTotalBytes()) : Cell::empty();
                     }});
  columns.push_back({"device memory (MiB)", "device_memory_mib",
                     [](const DDPRow &row) { return Cell::mebibytes(row.measurement.deviceMemoryBytes); }});
  columns.push_back({"planned memory", "planned_memory",
                     [](const DDPRow &row) {
                       if (!row.measurement.plan)
                         return Cell::empty();
                       json::Array moments;
                       for (const MemoryMoment &moment : getMemoryMoments(row.measurement.plan->timeline)) {
                         json::Object object{{"moment", moment.name}};
                         for (MemoryKind kind : getMemoryKinds())
                           object[stringifyMemoryKind(kind)] = moment.bytes[kind];
                         moments.push_back(std::move(object));
                       }
                       return Cell::data(std::move(moments));
                     },
                     Show::Data});
}

static Cell makeCheck(const DDPRow &row, llvm::ArrayRef<DDPRow> rows) {
  if (!row.measurement.status.ok())
    return Cell::empty();
  switch (checkValues(row, rows)) {
  case ValueCheck::Agree:
    return Cell(llvm::StringRef("agree"));
  case ValueCheck::RanksDiffer:
    return Cell(llvm::StringRef("ranks differ"));
  case ValueCheck::ModesDiffer:
    return Cell(llvm::StringRef("modes differ"));
  }
  llvm_unreachable("every check has a text");
}

static void appendValues(Columns &columns, llvm::ArrayRef<DDPRow> rows) {
  columns.push_back(
      {"values", "values", [rows](const DDPRow &row) { return makeCheck(row, rows); }, Show::Setting, Role::Result});
  using M = DDPMeasurement;
  auto add = [&](std::string title, std::string key, auto M::*member, int digits) {
    columns.push_back(makeNumber(
        std::move(title), std::move(key), digits, [member](const M &m) { return Number(m.*member); }, Show::OnRequest));
  };
  add("loss", "first_loss", &M::loss, 6);
  add("grad norm", "first_grad_norm", &M::gradNorm, 6);
  add("last loss", "last_loss", &M::lastLoss, 6);
  add("ranks differ by", "rank_spread", &M::spread, 9);
  add("compile (s)", "compile_seconds", &M::compileSeconds, 2);
  add("join (s)", "join_seconds", &M::joinSeconds, 3);
  add("load (s)", "load_seconds", &M::loadSeconds, 2);
  auto addTimes = [&](std::string title, std::string key, std::vector<double> M::*times) {
    columns.push_back({std::move(title), std::move(key),
                       [times](const DDPRow &row) {
                         const std::vector<double> &steps = row.measurement.*times;
                         return steps.empty() || !row.measurement.status.ok() ? Cell::empty() : Cell::list(steps, 3);
                       },
                       Show::OnRequest});
  };
  addTimes("steps (ms)", kStepsKey, &M::stepMilliseconds);
  addTimes("event steps (ms)", kEventStepsKey, &M::deviceMilliseconds);
  columns.push_back({"status", "status",
                     [](const DDPRow &row) {
                       const absl::Status &status = row.measurement.status;
                       return Cell(status.ok() ? std::string("ok") : std::string(status.message()));
                     },
                     Show::OnRequest});
}

Columns cs336::bench::getDDPColumns(llvm::ArrayRef<DDPRow> rows) {
  Columns columns;
  appendSettings(columns);
  appendTimes(columns);
  appendComparisons(columns, rows);
  appendCommunication(columns);
  appendMemory(columns);
  appendValues(columns, rows);
  return columns;
}

namespace {
/// One moment of a row's planned memory.
struct MomentRow {
  const DDPRow *row;
  MemoryMoment moment;
};
} // namespace

/// Returns nothing if no row has a plan.
static std::optional<Table> makeMemoryTable(llvm::ArrayRef<DDPRow> rows) {
  std::vector<MomentRow> moments;
  for (const DDPRow &row : rows)
    if (row.measurement.plan)
      for (MemoryMoment &moment : getMemoryMoments(row.measurement.plan->timeline))
        moments.push_back({&row, std::move(moment)});
  if (moments.empty())
    return std::nullopt;
  std::vector<Column<MomentRow>> columns{
      {"size", "size", [](const MomentRow &row) { return Cell(describeSize(row.row->description.transformer)); },
       Show::Setting},
      {"dtype", "dtype", [](const MomentRow &row) { return Cell(stringifyComputeType(row.row->computeType)); },
       Show::Setting},
      {"distribute", "distribute", [](const MomentRow &row) { return Cell(getModeName(*row.row)); }, Show::Setting},
      {"bucket (MiB)", "bucket_mib", [](const MomentRow &row) { return row.row->exchange.makeBucketSize(); },
       Show::Setting},
      {"ranks", "ranks", [](const MomentRow &row) { return Cell::integer(row.row->ranks); }, Show::Setting},
      {"moment", "moment", [](const MomentRow &row) { return Cell(row.moment.name); }, Show::Setting}};
  for (MemoryKind kind : getMemoryKinds()) {
    if (llvm::none_of(moments, [&](const MomentRow &row) { return row.moment.bytes[kind] > 0; }))
      continue;
    std::string name = stringifyMemoryKind(kind).str(), key = name;
    std::replace(key.begin(), key.end(), ' ', '_');
    columns.push_back(
        {name, key + "_mib", [kind](const MomentRow &row) { return Cell::mebibytes(row.moment.bytes[kind]); }});
  }
  columns.push_back(
      {"all", "all_mib", [](const MomentRow &row) { return Cell::mebibytes(row.moment.bytes.getTotal()); }});
  return Table("memory", "memory of one rank by kind, as planned, in MiB", columns, llvm::ArrayRef(moments));
}

Report cs336::bench::makeDDPReport(llvm::ArrayRef<DDPRow> rows, json::Object context, bool hasMemory) {
  Report report{std::move(context), {{"ddp", "", getDDPColumns(rows), rows}}, {}};
  if (std::optional<Table> memory = hasMemory ? makeMemoryTable(rows) : std::nullopt)
    report.tables.push_back(*std::move(memory));
  for (const DDPRow &row : rows)
    if (!row.measurement.profileNote.empty())
      report.notes.push_back(describeRow(row) + ": " + row.measurement.profileNote);
  return report;
}
