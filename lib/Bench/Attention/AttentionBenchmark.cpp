//===- AttentionBenchmark.cpp - Times of attention alone ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionBenchmark.h"

#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Bench/Timeline/TimelineSummary.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Driver/Compile/Autotuner.h"
#include "cs336/Target/Executable/EmitExecutable.h"
#include "cs336/runtime/Session.h"
#include "llvm/Support/xxhash.h"

#include "absl/strings/str_cat.h"

#include <chrono>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;
using Clock = std::chrono::steady_clock;

namespace {
/// A compiled program, and the phases of its entry for one mode.
struct Compiled {
  std::shared_ptr<const runtime::Executable> executable;
  uint64_t hash = 0;
  std::vector<PhaseSummary> phases;
  int64_t variableBytes = 0;
};
} // namespace

/// Runs the pipeline on the module, and summarizes the memory of its phases.
static LogicalResult plan(ModuleOp module, Mode mode, const CompileOptions &options, Compiled &compiled) {
  if (failed(runPipeline(module, options)))
    return failure();
  FailureOr<format::ExecutableT> program = describeProgram(module, options.target);
  if (failed(program))
    return failure();
  const DeviceModel &device = getDefaultDeviceModel(options.target == Target::CUDA);
  if (const format::EntryT *entry = findEntry(*program, mode))
    compiled.phases = summarizePhases(computeTimeline(*program, *entry, device));
  for (auto variable : module.getOps<exec::VariableOp>())
    compiled.variableBytes += exec::getStorageBytes(variable.getBufferType());
  return success();
}

static absl::StatusOr<Compiled> compile(llvm::function_ref<void(ModuleOp)> build, Mode mode,
                                        const CompileOptions &options, llvm::function_ref<void(StringRef)> warn) {
  Compiled compiled;
  std::vector<uint8_t> bytes;
  absl::Status status = withProgram(build, warn, [&](ModuleOp module) -> LogicalResult {
    FailureOr<CompileOptions> tuned = tuneSchedules(module, options);
    if (failed(tuned) || failed(plan(module, mode, *tuned, compiled)))
      return failure();
    // The pipeline has run, with passes that a planned module would reject.
    CompileOptions planned = *tuned;
    planned.pipeline.clear();
    FailureOr<std::vector<uint8_t>> compiledBytes = compileModule(module, planned);
    if (failed(compiledBytes))
      return failure();
    bytes = *std::move(compiledBytes);
    return success();
  });
  if (!status.ok())
    return status;
  auto executable = runtime::Executable::FromBytes(bytes);
  if (!executable.ok())
    return executable.status();
  compiled.executable = *std::move(executable);
  compiled.hash = llvm::xxh3_64bits(bytes);
  return compiled;
}

/// Sets the state that the case's score function reads.
static absl::Status setScoreState(runtime::Session &session, const AttentionCase &attention) {
  std::optional<ScoreState> state = attention.score.form->getState(attention);
  if (!state)
    return absl::OkStatus();
  absl::StatusOr<runtime::Tensor> zeros = session.GetVariable(state->name);
  if (!zeros.ok())
    return zeros.status();
  absl::StatusOr<runtime::Tensor> values = runtime::Tensor::Create({runtime::DType::kF64, zeros->shape()});
  if (!values.ok())
    return values.status();
  llvm::copy(state->values, values->mutable_values<double>().begin());
  absl::StatusOr<runtime::Tensor> stored = runtime::Cast(*values, zeros->dtype());
  return stored.ok() ? session.SetVariable(state->name, *stored) : stored.status();
}

static absl::StatusOr<std::unique_ptr<runtime::Session>>
createSession(std::shared_ptr<const runtime::Executable> executable, const AttentionCase &attention,
              const AttentionOptions &options) {
  runtime::SessionOptions sessionOptions;
  sessionOptions.device = options.device;
  sessionOptions.num_threads = options.numThreads;
  sessionOptions.memory_limit_bytes = options.memoryLimitBytes;
  sessionOptions.use_graphs = options.useGraphs;
  auto session = runtime::Session::Create(std::move(executable), sessionOptions);
  if (!session.ok())
    return session.status();
  if (absl::Status status = (*session)->InitializeVariables(options.seed); !status.ok())
    return status;
  if (absl::Status status = setScoreState(**session, attention); !status.ok())
    return status;
  return session;
}

static const PhaseSummary *findPhase(llvm::ArrayRef<PhaseSummary> phases, exec::CommandPhase phase) {
  auto found = llvm::find_if(phases, [&](const PhaseSummary &each) { return each.phase == phase; });
  return found == phases.end() ? nullptr : found;
}

static AttentionMemory getMemory(const Compiled &forward, const Compiled &backward) {
  AttentionMemory memory;
  if (const PhaseSummary *phase = findPhase(forward.phases, exec::CommandPhase::Forward))
    memory.forwardPeak = forward.variableBytes + phase->liveBytes;
  if (const PhaseSummary *phase = findPhase(backward.phases, exec::CommandPhase::Backward)) {
    memory.beforeBackward = backward.variableBytes + phase->heldBytes;
    memory.backwardPeak = backward.variableBytes + phase->liveBytes;
  }
  return memory;
}

absl::StatusOr<AttentionMemory> bench::planAttention(const AttentionCase &attention, const CompileOptions &options) {
  Compiled forward, backward;
  auto planOne = [&](void (*build)(const AttentionCase &, ModuleOp), Mode mode, Compiled &planned) {
    return withProgram([&](ModuleOp module) { build(attention, module); }, [](StringRef) {},
                       [&](ModuleOp module) { return plan(module, mode, options, planned); });
  };
  absl::Status status = planOne(buildAttentionForward, Mode::Forward, forward);
  if (status.ok())
    status = planOne(buildAttentionBackward, Mode::ForwardBackward, backward);
  if (!status.ok())
    return status;
  return getMemory(forward, backward);
}

static absl::Status copyOutput(runtime::Session &session, const char *entry, const char *name,
                               runtime::TensorMap &values) {
  absl::StatusOr<runtime::TensorView> output = session.Output(entry, name);
  if (!output.ok())
    return output.status();
  absl::StatusOr<runtime::Tensor> copy = runtime::Tensor::CopyOf(*output);
  if (!copy.ok())
    return copy.status();
  values.insert_or_assign(name, *std::move(copy));
  return absl::OkStatus();
}

/// Runs warm-ups and then the timed steps, and returns their times. Calls `report` with the completed fraction.
static absl::StatusOr<StepTimes> timeEntry(runtime::Session &session, StringRef entry, const AttentionOptions &options,
                                           llvm::function_ref<void(double)> report) {
  int64_t steps = options.warmup + options.steps;
  StepTimes times;
  absl::Status status = timeSteps(
      session, entry, {}, steps, [&](int64_t step) { report(static_cast<double>(step) / static_cast<double>(steps)); },
      times, /*observer=*/nullptr, options.useGraphs ? std::nullopt : std::optional<int64_t>(options.warmup));
  if (!status.ok())
    return status;
  return times.slice(options.warmup, options.steps);
}

/// Returns true if there is a peer that has not failed.
static bool hasPeer(const AttentionOptions &options) { return options.peer && options.peer->getFailure().ok(); }

static absl::Status measureForward(const Compiled &compiled, const AttentionCase &attention,
                                   const AttentionOptions &options, AttentionMeasurement &measurement,
                                   runtime::TensorMap &values, llvm::function_ref<void(StringRef, double)> report) {
  auto session = createSession(compiled.executable, attention, options);
  if (!session.ok())
    return session.status();
  absl::StatusOr<StepTimes> times =
      timeEntry(**session, "forward", options, [&](double done) { report("forward", done / 3); });
  if (!times.ok())
    return times.status();
  measurement.forward = *std::move(times);
  return hasPeer(options) ? copyOutput(**session, "forward", "o", values) : absl::OkStatus();
}

/// Copies the gradients for the comparison with a peer, and the variables for the peer.
static absl::Status copyComparedValues(runtime::Session &session, const AttentionCase &attention,
                                       runtime::TensorMap &values, runtime::TensorMap &variables) {
  std::vector<const char *> gradients{"q", "k"};
  if (attention.part == AttentionCase::Part::Whole)
    gradients.push_back("v");
  for (const char *name : gradients)
    if (absl::Status status = copyOutput(session, "forward_backward", name, values); !status.ok())
      return status;
  absl::StatusOr<runtime::TensorMap> saved = session.SaveVariables();
  if (saved.ok())
    variables = *std::move(saved);
  return saved.status();
}

/// Times the backward pass. With a peer, compares `values`, the results of the timed sessions, with the peer's.
static absl::Status measureBackward(const Compiled &compiled, const AttentionCase &attention,
                                    const AttentionOptions &options, AttentionMeasurement &measurement,
                                    runtime::TensorMap &values, llvm::function_ref<void(StringRef, double)> report) {
  auto session = createSession(compiled.executable, attention, options);
  if (!session.ok())
    return session.status();
  for (auto [name, times, begin] :
       {std::tuple("loss", &measurement.loss, 1.0 / 3), std::tuple("forward_backward", &measurement.both, 2.0 / 3)}) {
    absl::StatusOr<StepTimes> timed =
        timeEntry(**session, name, options, [&, start = begin](double done) { report("backward", start + done / 3); });
    if (!timed.ok())
      return timed.status();
    *times = *std::move(timed);
  }
  if (!options.peer)
    return absl::OkStatus();
  runtime::TensorMap given;
  if (hasPeer(options)) {
    report("PyTorch", 1);
    if (absl::Status status = copyComparedValues(**session, attention, values, given); !status.ok())
      return status;
  }
  // On one GPU, the peer needs the memory of this session.
  session->reset();
  absl::StatusOr<std::vector<AttentionPeerMeasurement>> peers = options.peer->measure(attention, given, values);
  if (!peers.ok())
    return peers.status();
  measurement.peers = *std::move(peers);
  return absl::OkStatus();
}

static absl::Status keepExhaustion(absl::Status status, absl::Status &kept) {
  kept = status;
  return absl::IsResourceExhausted(status) || absl::IsUnimplemented(status) ? absl::OkStatus() : status;
}

/// Returns OUT_OF_RANGE or UNIMPLEMENTED if blocks of the options' tile cannot compute the pass.
static absl::Status checkTile(const AttentionCase &attention, const AttentionOptions &options, bool isBackward,
                              std::optional<BlockMemory> &block) {
  if (!options.tile)
    return absl::OkStatus();
  absl::StatusOr<BlockMemory> memory =
      getBlockMemory(attention, *options.tile, isBackward, options.compile.architectures);
  if (!memory.ok())
    return memory.status();
  block = *memory;
  return checkFit(*memory, *options.tile);
}

/// Compiles the program of one pass, unless `status` shows that its tile does not fit.
static absl::StatusOr<Compiled> compilePass(llvm::function_ref<void(ModuleOp)> build, Mode mode,
                                            const AttentionOptions &options, const absl::Status &status,
                                            llvm::function_ref<void(StringRef)> warn,
                                            const std::optional<BlockMemory> &block, KernelResources &resources) {
  if (!status.ok())
    return Compiled();
  CompileOptions own = options.compile;
  if (options.tile)
    absl::StrAppend(&own.pipeline, " ", getTileOption(*options.tile));
  absl::StatusOr<Compiled> compiled = compile(build, mode, own, warn);
  if (!compiled.ok())
    return compiled.status();
  absl::StatusOr<KernelResources> read =
      readResources(*compiled->executable, block ? block->architecture : options.compile.architectures.front());
  if (!read.ok())
    return read.status();
  resources = *read;
  return compiled;
}

static void addPlans(const Compiled &forward, const Compiled &backward, AttentionMeasurement &measurement) {
  measurement.memory = getMemory(forward, backward);
  if (const PhaseSummary *phase = findPhase(forward.phases, exec::CommandPhase::Forward))
    measurement.forwardCommands = phase->work.getCommands();
  if (const PhaseSummary *phase = findPhase(backward.phases, exec::CommandPhase::Backward))
    measurement.backwardCommands = phase->work.getCommands();
}

/// Runs the passes that were compiled.
static absl::Status runPasses(const AttentionCase &attention, const AttentionOptions &options, const Compiled &forward,
                              const Compiled &backward, AttentionMeasurement &measurement,
                              llvm::function_ref<void(StringRef, double)> report) {
  if (!measurement.forwardStatus.ok() || options.compileOnly)
    return absl::OkStatus();
  runtime::TensorMap values;
  absl::Status status = keepExhaustion(measureForward(forward, attention, options, measurement, values, report),
                                       measurement.forwardStatus);
  if (!status.ok() || !measurement.backwardStatus.ok())
    return status;
  if (!measurement.forwardStatus.ok()) {
    measurement.backwardStatus = measurement.forwardStatus;
    return absl::OkStatus();
  }
  return keepExhaustion(measureBackward(backward, attention, options, measurement, values, report),
                        measurement.backwardStatus);
}

absl::StatusOr<AttentionMeasurement> bench::measureAttention(const AttentionCase &attention,
                                                             const AttentionOptions &options,
                                                             llvm::function_ref<void(StringRef, double)> report,
                                                             llvm::function_ref<void(StringRef)> warn) {
  AttentionMeasurement measurement;
  report("compiling", 0);
  Clock::time_point start = Clock::now();
  measurement.forwardStatus = checkTile(attention, options, /*isBackward=*/false, measurement.forwardBlock);
  measurement.backwardStatus = checkTile(attention, options, /*isBackward=*/true, measurement.backwardBlock);
  if (measurement.backwardStatus.ok())
    measurement.backwardStatus = measurement.forwardStatus;
  absl::StatusOr<Compiled> forward =
      compilePass([&](ModuleOp module) { buildAttentionForward(attention, module); }, Mode::Forward, options,
                  measurement.forwardStatus, warn, measurement.forwardBlock, measurement.forwardResources);
  if (!forward.ok())
    return forward.status();
  absl::StatusOr<Compiled> backward =
      compilePass([&](ModuleOp module) { buildAttentionBackward(attention, module); }, Mode::ForwardBackward, options,
                  measurement.backwardStatus, warn, measurement.backwardBlock, measurement.backwardResources);
  if (!backward.ok())
    return backward.status();
  measurement.compileSeconds = std::chrono::duration<double>(Clock::now() - start).count();
  measurement.programs = {forward->hash, backward->hash};
  if (options.below && options.below->programs == measurement.programs) {
    AttentionMeasurement same = *options.below;
    same.compileSeconds = measurement.compileSeconds;
    return same;
  }
  addPlans(*forward, *backward, measurement);
  if (absl::Status status = runPasses(attention, options, *forward, *backward, measurement, report); !status.ok())
    return status;
  return measurement;
}
