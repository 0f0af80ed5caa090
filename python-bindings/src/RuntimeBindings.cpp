//===- RuntimeBindings.cpp - Executables and sessions ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "Errors.h"
#include "ProgramSession.h"
#include "RankGroup.h"

#include "cs336/runtime/CudaInfo.h"
#include "cs336/runtime/DeviceId.h"
#include "cs336/runtime/Executable.h"
#include "cs336/runtime/PlanSummary.h"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace cs336;
using namespace cs336::python;
using ExecutablePtr = std::shared_ptr<const runtime::Executable>;

/// Returns (name, dtype, shape), the start of every description of a tensor.
static nb::tuple describe(const std::string &name, const runtime::TensorType &type) {
  nb::list shape;
  for (int64_t size : type.shape)
    shape.append(size);
  return nb::make_tuple(name, std::string(runtime::Name(type.dtype)), nb::tuple(shape));
}

namespace {

/// A verified program and the file that it was read from.
class ProgramFile {
public:
  explicit ProgramFile(nb::bytes bytes) : bytes(std::move(bytes)) {
    auto *data = reinterpret_cast<const uint8_t *>(this->bytes.c_str());
    executable = valueOrThrow(runtime::Executable::FromBytes({data, this->bytes.size()}));
  }

  nb::list getEntries() const {
    nb::list entries;
    for (const auto &entry : executable->entries())
      entries.append(entry->name);
    return entries;
  }

  /// Returns (name, dtype, shape, bound) per input of an entry; bound 0 stands for no bound.
  nb::list getInputs(const std::string &entry) const {
    nb::list inputs;
    for (const auto &port : find(entry).inputs)
      inputs.append(describe(port->name, runtime::ToTensorType(*port->type)) + nb::make_tuple(port->bound));
    return inputs;
  }

  /// Returns (name, dtype, shape) per output of an entry; named views replace a packed one.
  nb::list getOutputs(const std::string &entry) const {
    nb::list outputs;
    for (const auto &port : find(entry).outputs)
      for (const runtime::NamedRows &rows :
           runtime::CheckpointNames(port->name, runtime::ToTensorType(*port->type), port->views))
        outputs.append(describe(rows.name, rows.type));
    return outputs;
  }

  /// Returns (name, dtype, shape, kind) per variable; named views replace a packed one.
  nb::list getVariables() const {
    nb::list variables;
    for (const auto &variable : executable->variables())
      for (const runtime::NamedRows &rows :
           runtime::CheckpointNames(variable->name, runtime::ToTensorType(*variable->type), variable->views))
        variables.append(describe(rows.name, rows.type) + nb::make_tuple(format::EnumNameVariableKind(variable->kind)));
    return variables;
  }

  nb::dict getPlan(const std::string &entry, int64_t largest) const {
    runtime::PlanSummary plan = valueOrThrow(runtime::Summarize(*executable, entry, largest));
    nb::dict result;
    result["arena_bytes"] = plan.arena_bytes;
    result["parameter_bytes"] = plan.parameter_bytes;
    result["state_bytes"] = plan.state_bytes;
    result["derived_bytes"] = plan.derived_bytes;
    result["host_bytes"] = plan.host_bytes;
    result["input_bytes"] = plan.input_bytes;
    result["total_bytes"] = plan.total_bytes();
    result["commands"] = plan.commands;
    result["kernels"] = plan.kernels;
    nb::list items;
    for (const runtime::PlanSummary::Item &item : plan.largest)
      items.append(nb::make_tuple(item.name, item.location, item.byte_size));
    result["largest"] = items;
    return result;
  }

  nb::bytes bytes;
  ExecutablePtr executable;

private:
  const format::EntryT &find(const std::string &name) const {
    const format::EntryT *entry = executable->FindEntry(name);
    if (!entry)
      throw nb::value_error(("the executable has no entry '" + name + "'").c_str());
    return *entry;
  }
};

} // namespace

/// Returns true if there is a GPU, and all libraries that a run on it requires.
static bool hasUsableGpu() {
  std::vector<runtime::CudaLibraryInfo> libraries = runtime::QueryCudaLibraries();
  bool hasGemms = std::any_of(libraries.begin(), libraries.end(), [](const runtime::CudaLibraryInfo &library) {
    return library.name.find("cublasLt") != std::string::npos && library.status.ok();
  });
  return hasGemms && runtime::QueryCudaTarget(0).ok();
}

static void createSession(ProgramSession *self, const ProgramFile &file, const std::string &device, int numThreads,
                          int64_t memoryLimit, bool poisonMemory, bool profile, bool useGraphs,
                          const std::string &exchange, const RankGroup *group) {
  runtime::SessionOptions options;
  options.device = device;
  options.num_threads = numThreads;
  options.memory_limit_bytes = memoryLimit;
  options.poison_memory = poisonMemory;
  options.use_graphs = useGraphs;
  options.exchange = valueOrThrow(runtime::ParseGpuExchange(exchange));
  if (group) {
    options.communicator = group->communicator;
    options.device =
        runtime::ToString(runtime::DeviceOfRank(valueOrThrow(runtime::ParseDevice(device)), group->place.local_rank));
  }
  new (self) ProgramSession(file.executable, options, profile);
}

void python::bindRuntime(nb::module_ &module) {
  module.def("has_usable_gpu", &hasUsableGpu);
  nb::class_<ProgramFile>(module, "Executable")
      .def(nb::init<nb::bytes>(), nb::arg("bytes"))
      .def_prop_ro("bytes", [](const ProgramFile &file) { return file.bytes; })
      .def_prop_ro("world_size", [](const ProgramFile &file) { return file.executable->description().world_size; })
      .def("entries", &ProgramFile::getEntries)
      .def("inputs", &ProgramFile::getInputs, nb::arg("entry"))
      .def("outputs", &ProgramFile::getOutputs, nb::arg("entry"))
      .def("variables", &ProgramFile::getVariables)
      .def("plan", &ProgramFile::getPlan, nb::arg("entry"), nb::arg("largest"));
  nb::class_<ProgramSession>(module, "Session")
      .def("__init__", &createSession, nb::arg("executable"), nb::arg("device"), nb::arg("num_threads"),
           nb::arg("memory_limit_bytes"), nb::arg("poison_memory"), nb::arg("profile"), nb::arg("use_graphs"),
           nb::arg("exchange"), nb::arg("group").none())
      .def_prop_ro("device", &ProgramSession::getDevice)
      .def_prop_ro("allocated_bytes", &ProgramSession::getAllocatedBytes)
      .def("initialize", &ProgramSession::initialize, nb::arg("seed"))
      .def("prepare", &ProgramSession::prepare)
      .def("set_variable", &ProgramSession::setVariable, nb::arg("name"), nb::arg("array"))
      .def("get_variable", &ProgramSession::getVariable, nb::arg("name"))
      .def("load", &ProgramSession::load, nb::arg("path"), nb::arg("parameters_only"), nb::arg("ignore_extra"))
      .def("save", &ProgramSession::save, nb::arg("path"), nb::arg("parameters_only"))
      .def("join_save", &ProgramSession::joinSave, nb::arg("parameters_only"))
      .def("run", &ProgramSession::run, nb::arg("entry"), nb::arg("inputs"), nb::arg("check_nan"))
      .def("values", &ProgramSession::getValues, nb::arg("entry"), nb::arg("inputs"), nb::arg("pattern"))
      .def("profile", &ProgramSession::profile, nb::arg("entry"), nb::arg("inputs"), nb::arg("steps"), nb::arg("by"),
           nb::arg("trace"))
      .def("time_steps", &ProgramSession::timeSteps, nb::arg("entry"), nb::arg("inputs"), nb::arg("steps"),
           nb::arg("profiled"))
      .def("output", &ProgramSession::getOutput, nb::arg("entry"), nb::arg("name"))
      .def("previous_output", &ProgramSession::getPreviousOutput, nb::arg("entry"), nb::arg("name"))
      .def(
          "share_variable",
          [](nb::handle self, const std::string &name) {
            return nb::cast<ProgramSession &>(self).shareVariable(self, name);
          },
          nb::arg("name"))
      .def(
          "share_output",
          [](nb::handle self, const std::string &entry, const std::string &name) {
            return nb::cast<ProgramSession &>(self).shareOutput(self, entry, name);
          },
          nb::arg("entry"), nb::arg("name"))
      .def("synchronize", &ProgramSession::synchronize)
      .def("last_run_seconds", &ProgramSession::getLastRunSeconds, nb::arg("entry"))
      .def("memory", &ProgramSession::getMemory);
}
