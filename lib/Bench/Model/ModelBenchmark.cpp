//===- ModelBenchmark.cpp - Times of a model's steps ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelBenchmark.h"

#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Bench/Timing/StepTimer.h"
#include "cs336/Bench/Timing/Stopwatch.h"
#include "cs336/Driver/Run/InputTensors.h"
#include "cs336/runtime/DeviceStart.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

/// Sets `recomputedShare` to the option selective-checkpoint, as given or as the memory budget chose it. Returns
/// RESOURCE_EXHAUSTED if nothing meets the budget.
static absl::StatusOr<std::shared_ptr<const runtime::Executable>>
compile(const ModelDescription &description, const CompileOptions &options,
        llvm::function_ref<void(llvm::StringRef)> warn, double &recomputedShare) {
  FailureOr<std::vector<uint8_t>> bytes = failure();
  absl::Status status = withFittedModelIR(description, options, warn, [&](ModuleOp module, const CompileOptions &own) {
    PipelineOptions pipeline;
    llvm::cantFail(pipeline.read(own.pipeline));
    recomputedShare = pipeline.selectiveCheckpoint;
    bytes = compileModule(module, own);
    return success(succeeded(bytes));
  });
  if (!status.ok())
    return status;
  return runtime::Executable::FromBytes(*bytes);
}

runtime::SessionOptions cs336::bench::getSessionOptions(const MeasureOptions &options) {
  runtime::SessionOptions sessionOptions;
  sessionOptions.device = options.device;
  sessionOptions.num_threads = options.numThreads;
  sessionOptions.memory_limit_bytes = options.memoryLimitBytes;
  sessionOptions.use_graphs = options.useGraphs;
  return sessionOptions;
}

std::vector<runtime::NamedTensor> cs336::bench::getArguments(const runtime::Session &session, llvm::StringRef entry,
                                                             const runtime::TensorMap &batch) {
  std::vector<runtime::NamedTensor> arguments;
  for (const auto &input : session.executable().FindEntry(entry.str())->inputs)
    arguments.push_back({input->name, batch.at(input->name)});
  return arguments;
}

/// The results of one session.
struct SessionRun {
  /// OK, or the error that ended the steps.
  absl::Status status;
  StepTimes times;
  std::optional<double> loadSeconds;
  int64_t memoryBytes = 0;
  std::optional<runtime::SessionMemory> deviceMemory;
  /// Values for the comparison, if there is a peer.
  std::optional<StepValues> values;
};

/// Runs enough steps for every requested number of warm-ups.
static absl::Status runSteps(std::shared_ptr<const runtime::Executable> executable, runtime::DeviceStart device,
                             const runtime::TensorMap &batch, const ModelDescription &description,
                             const MeasureOptions &options, SessionRun &run,
                             llvm::function_ref<void(llvm::StringRef, double)> report) {
  report("loading", 0);
  Stopwatch loading;
  absl::StatusOr<std::unique_ptr<runtime::Session>> session =
      runtime::Session::Create(std::move(executable), std::move(device));
  if (!session.ok())
    return session.status();
  run.loadSeconds = loading.getSeconds();
  run.memoryBytes = (*session)->allocated_bytes();
  report("initial values", 0);
  if (absl::Status status = options.parameters->initialize(**session, description); !status.ok())
    return status;

  if (options.peer && options.peer->getFailure().ok()) {
    report("values", 0);
    if (absl::Status status = options.peer->give(**session, describeParameters(description, options.seed), batch);
        !status.ok())
      return status;
    absl::StatusOr<StepValues> values = runStep(**session, description, batch);
    if (!values.ok())
      return values.status();
    run.values = *values;
  }

  std::string entry = stringifyMode(description.mode).str();
  std::vector<runtime::NamedTensor> arguments = getArguments(**session, entry, batch);
  auto [fewest, most] = std::minmax_element(options.warmups.begin(), options.warmups.end());
  int64_t steps = *most + options.steps;
  auto reportStep = [&, first = *fewest](int64_t step) {
    report(step < first ? "warming up" : "timing", static_cast<double>(step) / static_cast<double>(steps));
  };
  std::optional<int64_t> firstRecorded;
  if (!options.useGraphs)
    firstRecorded = *fewest;
  if (absl::Status status =
          timeSteps(**session, entry, arguments, steps, reportStep, run.times, /*observer=*/nullptr, firstRecorded);
      !status.ok())
    return status;
  if ((*session)->device().kind != runtime::DeviceKind::kCuda)
    return absl::OkStatus();
  absl::StatusOr<runtime::SessionMemory> memory = (*session)->Memory();
  if (!memory.ok())
    return memory.status();
  run.deviceMemory = *memory;
  return absl::OkStatus();
}

/// Returns the measurement that starts after `warmup` steps of the session.
static Measurement getMeasurement(const SessionRun &run, int64_t warmup, int64_t steps) {
  Measurement measurement;
  measurement.warmup = warmup;
  measurement.loadSeconds = run.loadSeconds;
  measurement.memoryBytes = run.memoryBytes;
  measurement.deviceMemory = run.deviceMemory;
  // After an interruption the earlier steps are still valid; after other failures they are not.
  bool isComplete = static_cast<int64_t>(run.times.host.size()) >= warmup + steps;
  if (!run.status.ok() && !(absl::IsCancelled(run.status) && isComplete)) {
    measurement.status = run.status;
    return measurement;
  }
  StepTimes times = run.times.slice(warmup, steps);
  measurement.stepMilliseconds = std::move(times.host);
  measurement.deviceMilliseconds = std::move(times.device);
  return measurement;
}

absl::StatusOr<runtime::TensorMap> cs336::bench::makeBatch(const TransformerConfig &config, uint64_t seed) {
  format::EntryT entry;
  for (const char *name : {"tokens", "targets"}) {
    auto &port = entry.inputs.emplace_back(std::make_unique<format::InputPortT>());
    port->name = name;
    port->bound = config.vocabSize;
    port->type = std::make_unique<format::TensorTypeT>();
    port->type->dtype = format::DType::i64;
    port->type->shape = {config.batchSize, config.contextLength};
  }
  return makeRandomInputs(entry, seed);
}

MemoryTimeline cs336::bench::predictTimeline(const format::ExecutableT &program, Mode mode) {
  const DeviceModel &device = getDefaultDeviceModel(program.target == format::Target::cuda);
  return computeTimeline(program, *findEntry(program, mode), device);
}

absl::StatusOr<std::vector<Measurement>>
cs336::bench::measureModel(const ModelDescription &description, const MeasureOptions &options,
                           llvm::function_ref<void(llvm::StringRef, double)> report,
                           llvm::function_ref<void(llvm::StringRef)> warn) {
  Stopwatch stopwatch;
  runtime::DeviceStart device(getSessionOptions(options));
  double recomputedShare = 0;
  absl::StatusOr<std::shared_ptr<const runtime::Executable>> executable =
      compile(description, options.compile, warn, recomputedShare);
  if (absl::IsResourceExhausted(executable.status())) {
    std::vector<Measurement> unmet(options.warmups.size());
    for (auto [measurement, warmup] : llvm::zip_equal(unmet, options.warmups)) {
      measurement.warmup = warmup;
      measurement.status = executable.status();
    }
    return unmet;
  }
  if (!executable.ok())
    return executable.status();
  double compileSeconds = stopwatch.getSeconds();

  absl::StatusOr<runtime::TensorMap> batch = makeBatch(description.transformer, options.seed);
  if (!batch.ok())
    return batch.status();

  MemoryTimeline timeline = predictTimeline((*executable)->description(), description.mode);
  StepPrediction prediction{timeline.device, timeline.getSeconds(),
                            timeline.getResidentBytes().getTotal() + timeline.arenaBytes};
  SessionRun run;
  run.status = runSteps(*executable, std::move(device), *batch, description, options, run, report);
  std::vector<Measurement> measurements;
  for (int64_t warmup : options.warmups) {
    Measurement &measurement = measurements.emplace_back(getMeasurement(run, warmup, options.steps));
    measurement.compileSeconds = compileSeconds;
    measurement.recomputedShare = recomputedShare;
    measurement.prediction = prediction;
    measurement.numKernels = static_cast<int64_t>((*executable)->description().kernels.size());
  }
  if (!run.status.ok())
    return measurements;

  Measurement &first = measurements.front();
  first.values = run.values;
  if (options.profile)
    first.executable = *executable;
  if (options.peer) {
    report("PyTorch", 1);
    absl::StatusOr<std::vector<PeerMeasurement>> peers = options.peer->measure(description, options.computeType);
    if (!peers.ok())
      return peers.status();
    first.peers = std::move(*peers);
  }
  return measurements;
}
