//===- ModelCommand.cpp - cs336-bench model -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelCommand.h"

#include "ModelBenchmark.h"
#include "Progress.h"
#include "Statistics.h"
#include "cs336/Frontend/StepFlops.h"
#include "cs336/runtime/Storage.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"

#include "absl/strings/str_cat.h"

#include <optional>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "times a Transformer's steps on random tokens";

ModelCommand::ModelCommand()
    : subcommand("model", kDescription), model(modelCategory, subcommand),
      warmups("warmup", cl::desc("Steps before the timed ones; several numbers are measured side by side (default 5)"),
              cl::value_desc("number,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      warmupsAlias("warmup_steps", cl::desc("as published scripts spell it"), cl::Hidden, cl::CommaSeparated,
                   cl::aliasopt(warmups)),
      steps("steps", cl::desc("Timed steps (default 10)"), cl::value_desc("number"), cl::init(10), cl::cat(category),
            cl::sub(subcommand)),
      stepsAlias("n_steps", cl::desc("as published scripts spell it"), cl::Hidden, cl::aliasopt(steps)),
      device("device", cl::desc("Where to run"), cl::init(DeviceKind::CPU),
             cl::values(clEnumValN(DeviceKind::CPU, "cpu", "this machine's processor (default)")), cl::cat(category),
             cl::sub(subcommand)),
      backward("backward", cl::desc("The same as --mode forward_backward"), cl::cat(category), cl::sub(subcommand)),
      includeOptimizer("include_optimizer", cl::desc("The same as --mode train"), cl::cat(category),
                       cl::sub(subcommand)),
      numThreads("num-threads", cl::desc("Threads of one command; 0 is one a core (default)"), cl::value_desc("number"),
                 cl::init(0), cl::cat(category), cl::sub(subcommand)),
      seed("seed", cl::desc("Seed of parameters and tokens (default 0)"), cl::value_desc("number"), cl::init(0),
           cl::cat(category), cl::sub(subcommand)),
      memoryLimit("memory-limit", cl::desc("Most memory that a model may take, e.g. 40GiB; more is a cell 'OOM'"),
                  cl::value_desc("size"), cl::cat(category), cl::sub(subcommand)),
      perStep("per-step", cl::desc("Show the time of every step"), cl::cat(category), cl::sub(subcommand)),
      format("format", cl::desc("How to print the results"), cl::init(Format::Table),
             cl::values(clEnumValN(Format::Table, "table", "aligned columns (default)"),
                        clEnumValN(Format::Markdown, "markdown", "a Markdown table"),
                        clEnumValN(Format::CSV, "csv", "comma-separated values"),
                        clEnumValN(Format::JSON, "json", "everything, with every step's time")),
             cl::cat(category), cl::sub(subcommand)),
      compile(category, subcommand) {}

/// "40GiB", "1.5 GB", "1000000": bytes; MB is 10^6, MiB 2^20.
static std::optional<int64_t> parseBytes(llvm::StringRef text) {
  static constexpr std::pair<llvm::StringLiteral, double> kUnits[] = {
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"kB", 1e3},     {"KB", 1e3},        {"MB", 1e6},           {"GB", 1e9},
      {"TB", 1e12},    {"B", 1.0}};
  double unit = 1;
  for (const auto &[suffix, factor] : kUnits) {
    if (text.consume_back(suffix)) {
      unit = factor;
      break;
    }
  }
  double number;
  if (text.trim().getAsDouble(number) || !(number > 0) || number * unit > 9e18)
    return std::nullopt;
  return static_cast<int64_t>(number * unit);
}

absl::Status ModelCommand::checkFlags() const {
  if (steps < 1)
    return absl::InvalidArgumentError(absl::StrCat("--steps is ", steps.getValue(), ", must be positive"));
  for (int64_t warmup : warmups)
    if (warmup < 0)
      return absl::InvalidArgumentError(absl::StrCat("--warmup is ", warmup, ", must not be negative"));
  if (numThreads < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--num-threads is ", numThreads.getValue(), ", must not be negative"));
  if (!memoryLimit.empty() && !parseBytes(memoryLimit))
    return absl::InvalidArgumentError(
        absl::StrCat("--memory-limit is '", memoryLimit.getValue(), "', must be a size such as 40GiB"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ModelDescription>> ModelCommand::getDescriptions() const {
  ModelDescription base;
  base.mode = includeOptimizer ? Mode::Train : backward ? Mode::ForwardBackward : Mode::Forward;
  llvm::Expected<std::vector<ModelDescription>> descriptions = model.apply(base);
  if (!descriptions)
    return absl::InvalidArgumentError(llvm::toString(descriptions.takeError()));
  // An impossible configuration late in a sweep would cost what was measured before it.
  for (const ModelDescription &description : *descriptions)
    if (llvm::Error error = description.transformer.verify())
      return absl::InvalidArgumentError(llvm::toString(std::move(error)));
  return std::move(*descriptions);
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  ModelDescription description;
  Measurement measurement;
};
} // namespace

/// "small", or "d512 ff1344 L4 h16" for a model without a name.
static std::string describeSize(const TransformerConfig &config) {
  for (llvm::StringRef name : TransformerConfig::getSizeNames()) {
    TransformerConfig named;
    llvm::cantFail(named.setSize(name));
    if (named.dModel == config.dModel && named.dFF == config.dFF && named.numLayers == config.numLayers &&
        named.numHeads == config.numHeads)
      return name.str();
  }
  return llvm::formatv("d{0} ff{1} L{2} h{3}", config.dModel, config.dFF, config.numLayers, config.numHeads);
}

static bool isSameButMode(const Row &a, const Row &b) {
  const TransformerConfig &left = a.description.transformer, &right = b.description.transformer;
  bool hasEqualFields = llvm::all_of(TransformerConfig::getIntegerFields(),
                                     [&](const auto &field) { return left.*field.member == right.*field.member; });
  return hasEqualFields && left.ropeTheta == right.ropeTheta && a.description.dtype == b.description.dtype &&
         a.measurement.warmup == b.measurement.warmup;
}

/// The mean time of the forward pass of the same model, if it was measured too.
static std::optional<double> findForwardMean(const Row &row, llvm::ArrayRef<Row> rows) {
  if (row.description.mode != Mode::ForwardBackward)
    return std::nullopt;
  for (const Row &other : rows)
    if (other.description.mode == Mode::Forward && other.measurement.status.ok() && isSameButMode(row, other))
      return computeStatistics(other.measurement.stepMilliseconds).mean;
  return std::nullopt;
}

static std::vector<Report::Column> getColumns(bool perStep) {
  return {{"size", "size"},
          {"params (M)", "parameters_millions"},
          {"d_model", "d_model", true},
          {"d_ff", "d_ff", true},
          {"num_layers", "num_layers", true},
          {"num_heads", "num_heads", true},
          {"vocab_size", "vocab_size", true},
          {"batch", "batch_size"},
          {"context", "context_length"},
          {"dtype", "dtype"},
          {"mode", "mode"},
          {"warm-up", "warmup"},
          {"steps", "steps"},
          {"mean (ms)", "mean_ms"},
          {"std (ms)", "std_ms"},
          {"median (ms)", "median_ms"},
          {"min (ms)", "min_ms"},
          {"std/mean", "std_over_mean"},
          {"backward (ms)", "backward_ms"},
          {"backward/forward", "backward_over_forward"},
          {"tokens/s", "tokens_per_second"},
          {"GFLOP/s", "gflops_per_second"},
          {"memory (MiB)", "memory_mib"},
          {"compile (s)", "compile_seconds"},
          {"steps (ms)", "step_ms", !perStep},
          {"status", "status", true}};
}

static std::vector<Cell> makeRow(const Row &row, llvm::ArrayRef<Row> rows) {
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
      Cell(stringifyMode(row.description.mode).str()),
      Cell::integer(measurement.warmup),
      Cell::integer(measurement.stepMilliseconds.size()),
  };
  Cell memory = measurement.memoryBytes ? Cell::number(static_cast<double>(measurement.memoryBytes) / 1048576.0, 1)
                                        : Cell::empty();
  Cell compile = Cell::number(measurement.compileSeconds, 2);
  if (!measurement.status.ok()) {
    for (int i = 0; i < 9; ++i)
      cells.push_back(i == 0 ? Cell("OOM", nullptr) : Cell::empty());
    llvm::append_values(cells, memory, compile, Cell::empty(), Cell(std::string(measurement.status.message())));
    return cells;
  }

  Statistics statistics = computeStatistics(measurement.stepMilliseconds);
  double seconds = statistics.mean / 1e3;
  double tokens = static_cast<double>(config.batchSize) * static_cast<double>(config.contextLength);
  std::optional<double> forward = findForwardMean(row, rows);
  double backward = forward ? statistics.mean - *forward : 0;
  std::string times;
  json::Array timeValues;
  for (double time : measurement.stepMilliseconds) {
    times += llvm::formatv("{0}{1:F3}", times.empty() ? "" : " ", time);
    timeValues.push_back(time);
  }
  llvm::append_values(cells, Cell::number(statistics.mean, 3), Cell::number(statistics.std, 3),
                      Cell::number(statistics.median, 3), Cell::number(statistics.min, 3),
                      Cell::number(statistics.mean > 0 ? statistics.std / statistics.mean : 0, 4),
                      forward ? Cell::number(backward, 3) : Cell::empty(),
                      forward ? Cell::number(backward / *forward, 2) : Cell::empty(), Cell::number(tokens / seconds, 1),
                      Cell::number(getModelFlops(config, row.description.mode) / seconds / 1e9, 2), memory, compile,
                      Cell(times, std::move(timeValues)), Cell("ok"));
  return cells;
}

//===----------------------------------------------------------------------===//
// Command
//===----------------------------------------------------------------------===//

void ModelCommand::hideOtherOptions() { cl::HideUnrelatedOptions({&category, &modelCategory}, subcommand); }

absl::Status ModelCommand::run() {
  if (absl::Status status = checkFlags(); !status.ok())
    return status;
  absl::StatusOr<std::vector<ModelDescription>> descriptions = getDescriptions();
  if (!descriptions.ok())
    return descriptions.status();

  MeasureOptions options;
  options.warmups = warmups.empty() ? std::vector<int64_t>{5} : std::vector<int64_t>(warmups.begin(), warmups.end());
  options.steps = steps;
  options.numThreads = numThreads;
  options.seed = seed;
  options.memoryLimitBytes = memoryLimit.empty() ? 0 : *parseBytes(memoryLimit);

  std::vector<Row> rows;
  absl::Status status = compile.compile([&](const CompileOptions &compileOptions) -> absl::Status {
    options.compile = compileOptions;
    Progress progress(static_cast<int64_t>(descriptions->size()));
    for (auto [index, description] : llvm::enumerate(*descriptions)) {
      if (!compileOptions.dumpDir.empty() && descriptions->size() > 1)
        options.compile.dumpDir = absl::StrCat(compileOptions.dumpDir, "/", index);
      const TransformerConfig &config = description.transformer;
      progress.start(llvm::formatv("{0}, batch {1}, context {2}, {3}", describeSize(config), config.batchSize,
                                   config.contextLength, stringifyMode(description.mode)));
      absl::StatusOr<std::vector<Measurement>> measured =
          measureModel(description, options, [&](llvm::StringRef stage, double done) { progress.update(stage, done); });
      if (!measured.ok())
        return measured.status();
      for (Measurement &measurement : *measured) {
        if (!measurement.status.ok() && !absl::IsResourceExhausted(measurement.status))
          return measurement.status;
        rows.push_back({description, std::move(measurement)});
      }
    }
    return absl::OkStatus();
  });
  if (!status.ok())
    return status;

  json::Object context{{"benchmark", "model"},
                       {"device", json::Object{{"kind", "cpu"},
                                               {"processor", llvm::sys::getHostCPUName()},
                                               {"num_threads", numThreads.getValue()}}},
                       {"seed", seed.getValue()}};
  Report report(getColumns(perStep), std::move(context));
  for (const Row &row : rows)
    report.addRow(makeRow(row, rows));
  report.print(format, llvm::outs());
  llvm::outs().flush();
  for (const Row &row : rows)
    if (!row.measurement.status.ok())
      llvm::errs() << "OOM: " << describeSize(row.description.transformer) << ", "
                   << stringifyMode(row.description.mode) << ": " << std::string(row.measurement.status.message())
                   << "\n";
  llvm::errs() << "next: --format json keeps every step's time; --warmup 0,1,2,5 shows what warming up does\n";
  return absl::OkStatus();
}
