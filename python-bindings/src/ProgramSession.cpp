//===- ProgramSession.cpp - A session for Python --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramSession.h"

#include "Errors.h"

#include "cs336/Driver/Run/RunProfile.h"
#include "cs336/Driver/Run/TraceFile.h"
#include "cs336/Driver/Run/ValueObserver.h"
#include "cs336/runtime/Checkpoint.h"
#include "cs336/runtime/TensorFile.h"
#include "llvm/ADT/ScopeExit.h"

#include <nanobind/stl/string.h>

#include <vector>

namespace nb = nanobind;
using namespace cs336;
using namespace cs336::python;

static runtime::VariableSet toSet(bool parametersOnly) {
  return parametersOnly ? runtime::VariableSet::kParameters : runtime::VariableSet::kParametersAndState;
}

static nb::str toStr(absl::string_view text) { return nb::str(text.data(), text.size()); }

/// Calls `function`, which returns an absl::Status or an absl::StatusOr, while other Python threads run. Returns its
/// result.
template <typename Function>
static auto withoutGIL(Function &&function) {
  nb::gil_scoped_release release;
  return function();
}

namespace {

/// A value that a command wrote.
struct Value {
  runtime::CommandInfo command;
  std::string name;
  runtime::Tensor tensor;
};

class ValueList : public ValueObserver {
public:
  using ValueObserver::ValueObserver;

  std::vector<Value> values;

private:
  absl::Status onValue(const runtime::CommandInfo &command, const runtime::WrittenTensor &tensor) override {
    absl::StatusOr<runtime::Tensor> copy = runtime::Tensor::CopyOf(tensor.value);
    if (copy.ok())
      values.push_back({command, std::string(tensor.name), *std::move(copy)});
    return copy.status();
  }
};

} // namespace

ProgramSession::ProgramSession(std::shared_ptr<const runtime::Executable> executable,
                               const runtime::SessionOptions &options, bool profile)
    : rank(options.communicator ? options.communicator->rank() : 0) {
  runtime::DeviceId device = valueOrThrow(runtime::ParseDevice(options.device));
  if (profile || device.kind == runtime::DeviceKind::kCpu) {
    absl::StatusOr<std::unique_ptr<RunProfiler>> created = RunProfiler::create(device);
    if (!created.ok())
      throwDeviceStatus(created.status());
    profiler = *std::move(created);
  }
  absl::StatusOr<std::unique_ptr<runtime::Session>> created = runtime::Session::Create(std::move(executable), options);
  if (!created.ok())
    throwDeviceStatus(created.status());
  session = *std::move(created);
}

nb::dict ProgramSession::getMemory() const {
  runtime::SessionMemory memory = valueOrThrow(session->Memory());
  nb::dict result;
  result["allocated_bytes"] = memory.allocated;
  result["workspace_bytes"] = memory.workspace;
  result["used_bytes"] = memory.used;
  result["available_bytes"] = memory.available;
  result["before_bytes"] = memory.before;
  result["kernel_bytes"] = memory.kernels;
  result["library_bytes"] = memory.libraries;
  result["graph_bytes"] = memory.graphs;
  result["rounding_bytes"] = memory.rounding;
  return result;
}

void ProgramSession::initialize(uint64_t seed) {
  throwIfError(withoutGIL([&] { return session->InitializeVariables(seed); }));
}

void ProgramSession::prepare() {
  throwIfError(withoutGIL([&] { return session->Prepare(); }));
}

void ProgramSession::setVariable(const std::string &name, nb::handle given) {
  std::string what = "variable '" + name + "'";
  InputArray array = takeArray(given, what);
  runtime::TensorView value = viewOf(array, what);
  runtime::Placement placement = placementOf(array);
  throwIfError(withoutGIL([&] { return session->SetVariable(name, value, placement); }));
}

OutputArray ProgramSession::getVariable(const std::string &name) const {
  return toArray(valueOrThrow(withoutGIL([&] { return session->GetVariable(name); })));
}

std::string ProgramSession::load(const std::string &path, bool parametersOnly, bool ignoreExtra) {
  absl::StatusOr<runtime::TensorMap> tensors = withoutGIL([&] { return runtime::ReadTensors(path); });
  if (!tensors.ok())
    throwFileStatus(tensors.status());
  absl::StatusOr<runtime::FileNotes> notes = withoutGIL([&] { return runtime::ReadNotes(path); });
  if (!notes.ok())
    throwFileStatus(notes.status());
  runtime::LoadOptions options;
  options.set = toSet(parametersOnly);
  options.ignore_extra = ignoreExtra;
  throwIfError(withoutGIL([&] { return session->LoadVariables(*tensors, options); }));
  return parametersOnly ? "" : runtime::ExplainOtherBits(*notes, *session);
}

void ProgramSession::save(const std::string &path, bool parametersOnly) const {
  absl::Status status = withoutGIL([&] { return runtime::SaveCheckpoint(*session, path, toSet(parametersOnly)); });
  if (!status.ok())
    throwFileStatus(status);
}

void ProgramSession::joinSave(bool parametersOnly) const {
  throwIfError(withoutGIL([&] { return runtime::JoinCheckpoint(*session, toSet(parametersOnly)); }));
}

/// Runs Python's handlers of signals that this process has received. Returns whether one raised an exception, as that
/// of Ctrl-C does.
static bool hasPythonSignal() {
  nb::gil_scoped_acquire lock;
  return PyErr_CheckSignals() != 0;
}

void ProgramSession::runSteps(const std::string &entry, const nb::dict &inputs, runtime::RunObserver *observer,
                              int64_t steps, llvm::function_ref<absl::Status()> afterStep) {
  std::vector<std::string> names;
  std::vector<InputArray> arrays; // Keep the memory of the views alive.
  for (auto [name, array] : inputs) {
    names.push_back(nb::cast<std::string>(name));
    arrays.push_back(takeArray(array, "input '" + names.back() + "'"));
  }
  std::vector<runtime::NamedTensor> tensors;
  for (size_t i = 0; i < arrays.size(); ++i)
    tensors.push_back({names[i], viewOf(arrays[i], "input '" + names[i] + "'"), placementOf(arrays[i])});
  bool isInterrupted = false;
  throwIfError(withoutGIL([&] {
    absl::Status status;
    for (int64_t step = 0; step < steps && status.ok() && !isInterrupted; ++step) {
      status = session->Run(entry, tensors, observer);
      if (status.ok())
        status = afterStep();
      // After an error, Python runs the handlers once it goes on.
      isInterrupted = status.ok() && step + 1 < steps && hasPythonSignal();
    }
    return status;
  }));
  if (isInterrupted)
    throw nb::python_error();
}

void ProgramSession::run(const std::string &entry, const nb::dict &inputs, bool checkNaN) {
  runtime::NanCheck nanCheck;
  runSteps(entry, inputs, checkNaN ? &nanCheck : nullptr);
}

nb::list ProgramSession::getValues(const std::string &entry, const nb::dict &inputs, const std::string &pattern) {
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
  if (!glob)
    throw nb::value_error(("'" + pattern + "': " + llvm::toString(glob.takeError())).c_str());
  ValueList observer(*std::move(glob));
  runSteps(entry, inputs, &observer);
  if (observer.values.empty())
    throw nb::value_error(
        ("no value, command or location of '" + entry + "' matches '" + pattern + "'; '*' selects all").c_str());
  nb::list values;
  for (const Value &value : observer.values)
    values.append(nb::make_tuple(value.command.index, toStr(value.command.phase), toStr(value.command.location),
                                 toStr(value.command.kind), toStr(value.command.name), value.name,
                                 toArray(value.tensor)));
  return values;
}

nb::list ProgramSession::profile(const std::string &entry, const nb::dict &inputs, int64_t steps,
                                 const std::string &keyName, const std::string &trace) {
  ProfileKey key = valueOrThrow(parseProfileKey(keyName));
  if (!profiler)
    throw std::runtime_error("this session does not time kernels on the GPU: create it with cs336.Session(…, "
                             "profile=True)");
  RankTrace kept{rank, runtime::ToString(session->device())};
  RunProfiler::Consumer keep;
  if (!trace.empty())
    keep = [&](const runtime::Trace &part) { kept.add(part); };
  throwIfError(withoutGIL([&] { return profiler->start(*session, keep); }));
  llvm::scope_exit stopAtError([&] { profiler->stop(*session).IgnoreError(); });
  runSteps(entry, inputs, profiler->getObserver(), steps, [&] { return profiler->collect(*session); });
  stopAtError.release();
  RunProfile profile = valueOrThrow(withoutGIL([&] { return profiler->stop(*session); }));
  if (!trace.empty()) {
    absl::Status status = withoutGIL([&] { return writeTrace(kept, trace); });
    if (!status.ok())
      throwFileStatus(status);
  }
  nb::list rows;
  for (const RunProfile::Row &row : profile.getRows(key)) {
    const DurationStatistics &times = row.times;
    nb::list seconds;
    for (double nanoseconds : {static_cast<double>(times.getTotal()), times.getAverage(), times.getMedian(),
                               static_cast<double>(times.getShortest()), static_cast<double>(times.getLongest()),
                               times.getStandardDeviation()})
      seconds.append(nanoseconds * 1e-9);
    rows.append(nb::make_tuple(row.phase, row.name, times.getInstances(), *seconds));
  }
  return rows;
}

std::vector<double> ProgramSession::timeSteps(const std::string &entry, const nb::dict &inputs, int64_t steps,
                                              bool isProfiled) {
  if (isProfiled)
    throwIfError(withoutGIL([&] { return profiler->start(*session); }));
  llvm::scope_exit stopAtError([&] {
    if (isProfiled)
      profiler->stop(*session).IgnoreError();
  });
  std::vector<double> seconds;
  runSteps(entry, inputs, isProfiled ? profiler->getObserver() : nullptr, steps, [&] {
    absl::StatusOr<absl::Duration> duration = session->LastRunDuration(entry);
    if (!duration.ok())
      return duration.status();
    seconds.push_back(absl::ToDoubleSeconds(*duration));
    return isProfiled ? profiler->collect(*session) : absl::OkStatus();
  });
  stopAtError.release();
  if (isProfiled)
    throwIfError(withoutGIL([&] { return profiler->stop(*session).status(); }));
  return seconds;
}

void ProgramSession::synchronize() {
  throwIfError(withoutGIL([&] { return session->Synchronize(); }));
}

double ProgramSession::getLastRunSeconds(const std::string &entry) const {
  return absl::ToDoubleSeconds(valueOrThrow(session->LastRunDuration(entry)));
}

OutputArray ProgramSession::getOutput(const std::string &entry, const std::string &name) const {
  return toArray(valueOrThrow(withoutGIL([&] { return session->Output(entry, name); })));
}

OutputArray ProgramSession::getPreviousOutput(const std::string &entry, const std::string &name) const {
  return toArray(valueOrThrow(withoutGIL([&] { return session->PreviousOutput(entry, name); })));
}

SharedArray ProgramSession::shareVariable(nb::handle self, const std::string &name) {
  synchronize();
  return shareArray(valueOrThrow(session->VariableOnDevice(name)), session->device(), self);
}

SharedArray ProgramSession::shareOutput(nb::handle self, const std::string &entry, const std::string &name) {
  synchronize();
  return shareArray(valueOrThrow(session->OutputOnDevice(entry, name)), session->device(), self);
}
