//===- RankRun.cpp - One rank of a run of cs336-run -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankRun.h"

#include "TensorSummary.h"
#include "ValueDump.h"
#include "cs336/Bench/Profile/Overhead.h"
#include "cs336/Bench/Profile/ProfileReport.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Report/ReportWriter.h"
#include "cs336/Driver/Run/InputTensors.h"
#include "cs336/Driver/Run/ValueObserver.h"
#include "cs336/runtime/Checkpoint.h"
#include "cs336/runtime/TensorFile.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

using namespace cs336;
using namespace cs336::runtime;

/// The most steps whose times show the overhead of profiling.
static constexpr int64_t kMostCompared = 100;

std::vector<std::string> RankRun::getInputPaths() const {
  std::vector<std::string> paths;
  for (const std::string &argument : flags.inputs)
    paths.push_back(getPathOfRank(argument, rank));
  return paths;
}

int RankRun::getNumThreads() const {
  // Processes have divided the cores.
  if (flags.numThreads != 0 || flags.ranks == 1 || flags.place)
    return flags.numThreads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / flags.ranks);
}

DeviceId RankRun::getDevice() const { return DeviceOfRank(flags.device, flags.place ? flags.place->local_rank : rank); }

/// Returns an error on every rank unless all ranks start from the same values.
static absl::Status compareSeeds(Communicator &ranks, uint64_t seed) {
  std::vector<uint64_t> seeds(ranks.size());
  if (absl::Status status = ranks.AllGather(&seed, seeds.data(), 1, DType::kI64); !status.ok())
    return status;
  for (int rank = 1; rank != ranks.size(); ++rank)
    if (seeds[rank] != seeds[0])
      return absl::FailedPreconditionError(absl::StrCat("--seed is ", seeds[0], " on rank 0, but ", seeds[rank],
                                                        " on rank ", rank, ": pass the same one to all ranks"));
  return absl::OkStatus();
}

absl::Status RankRun::checkFormats() const {
  auto check = [&](llvm::StringRef flag, llvm::StringRef path, size_t tensors) {
    if (!path.ends_with(".npy") || tensors == 1)
      return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(flag.str(), " is ", path.str(), ", which can hold one tensor, not ",
                                                   tensors, ": write a .npz or .safetensors file"));
  };
  size_t outputs = 0, parameters = 0, state = 0;
  for (const auto &port : entry.outputs)
    outputs += CheckpointNames(port->name, ToTensorType(*port->type), port->views).size();
  for (const auto &variable : executable->variables()) {
    size_t names = CheckpointNames(variable->name, ToTensorType(*variable->type), variable->views).size();
    parameters += variable->kind == format::VariableKind::parameter ? names : 0;
    state += variable->kind == format::VariableKind::state ? names : 0;
  }
  absl::Status status = check("--outputs", flags.outputs, outputs);
  status.Update(check("--save-params", flags.saveParams, parameters));
  status.Update(check("--save-state", flags.saveState, parameters + state));
  return status;
}

absl::Status RankRun::load() {
  absl::StatusOr<TensorMap> tensors =
      flags.randomInputs ? makeRandomInputs(entry, flags.seed + rank) : readInputs(entry, getInputPaths());
  if (!tensors.ok())
    return tensors.status();
  inputs = *std::move(tensors);

  if (communicator)
    if (absl::Status status = compareSeeds(*communicator, flags.seed); !status.ok())
      return status;
  std::string path = getPathOfRank(flags.params, rank);
  if (!flags.params.empty()) {
    absl::StatusOr<TensorMap> read = ReadTensors(path);
    if (!read.ok())
      return read.status();
    parameters = *std::move(read);
  }

  if (flags.profile.isProfiled()) {
    if (absl::Status status = timeUnprofiledSteps(); !status.ok())
      return status;
    absl::StatusOr<std::unique_ptr<RunProfiler>> made = RunProfiler::create(getDevice());
    if (!made.ok())
      return absl::Status(made.status().code(), absl::StrCat("--profile: ", made.status().message()));
    profiler = *std::move(made);
  }
  absl::StatusOr<std::unique_ptr<Session>> created = createSession();
  if (!created.ok())
    return created.status();
  session = *std::move(created);
  communicator = nullptr;
  if (flags.params.empty())
    return absl::OkStatus();

  absl::StatusOr<FileNotes> notes = ReadNotes(path);
  if (!notes.ok())
    return notes.status();
  if (std::string reason = ExplainOtherBits(*notes, *session); rank == 0 && hasLoadedState() && !reason.empty())
    llvm::WithColor::note(llvm::errs(), "cs336-run") << path << ": " << reason << "\n";
  parameters.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Session>> RankRun::createSession() const {
  SessionOptions options;
  options.device = ToString(getDevice());
  options.num_threads = getNumThreads();
  options.memory_limit_bytes = flags.memoryLimit.getBytes();
  options.poison_memory = flags.poisonMemory;
  options.use_graphs = !flags.noGraph;
  options.exchange = flags.exchange;
  options.communicator = communicator;
  absl::StatusOr<std::unique_ptr<Session>> created = Session::Create(executable, options);
  if (!created.ok())
    return created.status();
  if (absl::Status status = (*created)->InitializeVariables(flags.seed); !status.ok())
    return status;
  if (flags.params.empty())
    return created;
  LoadOptions load;
  load.set = hasLoadedState() ? VariableSet::kParametersAndState : VariableSet::kParameters;
  if (absl::Status status = (*created)->LoadVariables(parameters, load); !status.ok())
    return absl::Status(status.code(), absl::StrCat(getPathOfRank(flags.params, rank), ": ", status.message()));
  return created;
}

bool RankRun::hasLoadedState() const {
  return llvm::any_of(executable->variables(), [&](const auto &variable) {
    return variable->kind == format::VariableKind::state && parameters.contains(variable->name);
  });
}

absl::Status RankRun::printOutputs(int64_t step) {
  bool isLast = step + 1 == flags.steps;
  if (flags.steps > 1)
    os << "step " << step + 1 << "\n";
  for (const auto &output : entry.outputs) {
    // Prints only losses and norms for the steps between the first and the last.
    if (!isLast && !output->type->shape.empty())
      continue;
    absl::StatusOr<TensorView> value = session->Output(entry.name, output->name);
    if (!value.ok())
      return value.status();
    absl::StatusOr<std::string> summary = summarize(*value);
    if (!summary.ok())
      return summary.status();
    os << "  " << output->name << " " << *summary << "\n";
  }
  return absl::OkStatus();
}

absl::Status RankRun::runSteps() {
  ObserverList observers;
  NanCheck nanCheck;
  std::optional<ValueDump> dump;
  // The first observer, so that it has the command at which another one ends the run.
  if (profiler) {
    if (RunObserver *observer = profiler->getObserver())
      observers.add(*observer);
    RunProfiler::Consumer keep;
    if (!flags.profile.getTracePath().path.empty())
      keep = [this](const Trace &part) { trace.add(part); };
    if (absl::Status status = profiler->start(*session, keep); !status.ok())
      return status;
  }
  if (!flags.dumpValues.empty()) {
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(flags.dumpValues);
    if (!pattern)
      return absl::InvalidArgumentError(absl::StrCat("--dump-values: ", llvm::toString(pattern.takeError())));
    observers.add(dump.emplace(*std::move(pattern), os));
  }
  if (flags.checkNaN)
    observers.add(nanCheck);

  absl::Status status = runEachStep(observers.empty() ? nullptr : &observers);
  if (absl::Status kept = keepProfile(status); status.ok())
    status = kept;
  if (!status.ok())
    return status;
  if (dump && dump->getNumPrinted() == 0)
    dumpStatus = absl::NotFoundError(absl::StrCat("no value, command or location of '", entry.name, "' matches '",
                                                  flags.dumpValues.getValue(), "'; '*' prints all"));
  return absl::OkStatus();
}

absl::Status RankRun::runEachStep(RunObserver *observer) {
  std::vector<NamedTensor> arguments = asArguments(inputs);
  if (flags.noGraph)
    if (absl::Status status = session->StartTools(); !status.ok())
      return status;
  for (int64_t step = 0; step < flags.steps; ++step) {
    if (absl::Status status = bench::checkInterruption(); !status.ok())
      return absl::Status(status.code(), absl::StrCat(std::string(status.message()), " after ", step, " of ",
                                                      flags.steps.getValue(), " steps"));
    bench::StepTimes times;
    auto begin = std::chrono::steady_clock::now();
    absl::Status status = profiler ? bench::timeSteps(
                                         *session, entry.name, arguments, 1, [](int64_t) {}, times, observer)
                                   : session->Run(entry.name, arguments, observer);
    stepTime += absl::FromChrono(std::chrono::steady_clock::now() - begin);
    if (status.ok() && profiler && step < kMostCompared) {
      llvm::append_range(profiledTimes.host, times.host);
      llvm::append_range(profiledTimes.device, times.device);
    }
    if (status.ok())
      status = printOutputs(step);
    if (status.ok() && profiler)
      status = profiler->collect(*session);
    if (!status.ok())
      return status;
    os.flush();
  }
  return flags.noGraph ? session->StopTools() : absl::OkStatus();
}

/// Returns the begin of the title of a profile's tables.
static const char *getTitle(const absl::Status &status) {
  if (status.ok())
    return "all: ";
  return bench::getInterruption() != 0 ? "until the interruption: " : "until the error: ";
}

absl::Status RankRun::keepProfile(const absl::Status &status) {
  if (!profiler)
    return absl::OkStatus();
  absl::StatusOr<RunProfile> stopped = profiler->stop(*session);
  if (!stopped.ok())
    return stopped.status();
  if (!status.ok() && stopped->isEmpty())
    return absl::OkStatus();
  hasTrace = !flags.profile.getTracePath().path.empty();
  profile = *std::move(stopped);
  profileStatus = status;
  return absl::OkStatus();
}

/// Returns why a run does not measure the overhead of profiling, or nothing if it does.
static std::string explainUnmeasuredOverhead(const RunFlags &flags) {
  if (flags.checkNaN || !flags.dumpValues.empty())
    return "since --check-nan and --dump-values also take time in the profiled steps";
  if (flags.steps == 1)
    return "since the first step is slower than others: pass --steps 10";
  return "";
}

absl::Status RankRun::timeUnprofiledSteps() {
  if (flags.profile.getLayout().keys.empty() || !explainUnmeasuredOverhead(flags).empty())
    return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Session>> plain = createSession();
  if (!plain.ok())
    return plain.status();
  int64_t steps = std::min(flags.steps.getValue(), kMostCompared);
  unprofiledStatus = bench::timeSteps(**plain, entry.name, asArguments(inputs), steps, [](int64_t) {}, unprofiledTimes);
  return absl::OkStatus();
}

std::string RankRun::describeProfilingOverhead() {
  const char *notMeasured = "overhead of profiling: not measured, ";
  if (!profileStatus.ok())
    return absl::StrCat(notMeasured, "since the steps did not end");
  if (std::string reason = explainUnmeasuredOverhead(flags); !reason.empty())
    return absl::StrCat(notMeasured, reason);
  if (!unprofiledStatus.ok())
    return absl::StrCat(notMeasured, std::string(unprofiledStatus.message()));
  // The first step of each kind is slower than the others.
  llvm::ArrayRef<double> with = profiledTimes.getOwnTimes(), without = unprofiledTimes.getOwnTimes();
  if (std::optional<std::string> warning = bench::findOverheadWarning(with.drop_front(), without.drop_front()))
    llvm::WithColor::warning(llvm::errs(), "cs336-run") << *warning << "\n";
  return bench::describeOverhead(with.drop_front(), without.drop_front());
}

absl::Status RankRun::printProfile() {
  if (!profile)
    return absl::OkStatus();
  bench::ProfileLayout layout = flags.profile.getLayout();
  if (layout.keys.empty())
    return absl::OkStatus();
  std::optional<bench::Ceilings> ceilings;
  if (flags.profile.hasRoofline() && profileStatus.ok()) {
    auto measured = flags.compile.compile(flags.device, [&](const CompileOptions &options) {
      bench::PeakRates rates(options, ToString(flags.device), getNumThreads(), flags.seed);
      return bench::measureCeilings(*profile, rates);
    });
    if (!measured.ok())
      return absl::Status(measured.status().code(), absl::StrCat("--roofline: ", measured.status().message()));
    ceilings = *std::move(measured);
  }
  bench::Report report;
  bench::appendProfile(report, "profile", getTitle(profileStatus), *profile, layout, ceilings);
  // On a GPU, the host only enqueues the steps.
  if (profiler->getObserver())
    report.notes.push_back(bench::describeTimeOutside(*profile, absl::ToDoubleMilliseconds(stepTime)));
  report.notes.push_back(describeProfilingOverhead());
  bench::ReportWriter::create(bench::Format::Table)->write(report, os);
  return bench::checkInterruption();
}

absl::Status RankRun::save() {
  // If one file cannot be written, the others are still written.
  absl::Status written;
  if (!flags.outputs.empty()) {
    TensorMap outputs;
    for (const auto &port : entry.outputs) {
      for (const NamedRows &rows : CheckpointNames(port->name, ToTensorType(*port->type), port->views)) {
        absl::StatusOr<TensorView> value = session->Output(entry.name, rows.name);
        if (!value.ok())
          return value.status();
        absl::StatusOr<Tensor> copy = Tensor::CopyOf(*value);
        if (!copy.ok())
          return copy.status();
        outputs.emplace(rows.name, *std::move(copy));
      }
    }
    written = WriteTensors(getPathOfRank(flags.outputs, rank), outputs);
  }
  for (auto [path, set] : {std::pair(&flags.saveParams.getValue(), VariableSet::kParameters),
                           std::pair(&flags.saveState.getValue(), VariableSet::kParametersAndState)}) {
    if (path->empty())
      continue;
    written.Update(writesPath(*path, rank) ? SaveCheckpoint(*session, getPathOfRank(*path, rank), set)
                                           : JoinCheckpoint(*session, set));
  }
  return written;
}

absl::Status RankRun::run() {
  absl::Status status;
  status = checkFormats();
  for (absl::Status (RankRun::*step)() : {&RankRun::load, &RankRun::runSteps, &RankRun::save})
    if (status.ok())
      status = (this->*step)();
  status.Update(dumpStatus);
  if (absl::Status printed = printProfile(); status.ok())
    status = printed;
  return status;
}
