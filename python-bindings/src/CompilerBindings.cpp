//===- CompilerBindings.cpp - Modules, named sizes and operations ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "Errors.h"
#include "IRModule.h"

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Driver/Flags/DeviceFlag.h"
#include "cs336/Frontend/ModelDescription.h"
#include "mlir/IR/MLIRContext.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;
using namespace cs336;
using namespace cs336::python;

static nb::list getCosts(const IRModule &module) {
  nb::list costs;
  for (const OperationCost &cost : module.getCosts())
    costs.append(nb::make_tuple(cost.function, cost.operation, cost.count, cost.flops, cost.bytes));
  return costs;
}

static nb::bytes compile(const IRModule &module, const std::string &pipeline, const std::string &device,
                         const std::vector<std::string> &architectures, bool useCache, const std::string &dumpDir,
                         bool readsDeviceMemory) {
  CompileOptions options;
  options.pipeline = pipeline;
  runtime::DeviceId id = valueOrThrow(runtime::ParseDevice(device));
  options.target = getTarget(id);
  options.architectures = architectures.empty() ? getArchitectures(id) : architectures;
  if (!useCache)
    options.cacheFolder.clear();
  options.dumpDir = dumpDir;
  if (readsDeviceMemory)
    options.deviceMemoryBytes = valueOrThrow(getMemoryBudget(id));
  CompiledBytes compiled;
  {
    nb::gil_scoped_release release;
    compiled = module.compile(options);
  }
  // The warning points to the caller of cs336.compile.
  constexpr Py_ssize_t kStackLevel = 2;
  if (!compiled.warnings.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, compiled.warnings.c_str(), kStackLevel) != 0)
    throw nb::python_error();
  return nb::bytes(compiled.executable.data(), compiled.executable.size());
}

static TransformerConfig readTransformer(const std::string &description) {
  llvm::Expected<ModelDescription> model = ModelDescription::fromJSON(description);
  if (!model)
    throw nb::value_error(llvm::toString(model.takeError()).c_str());
  return model->transformer;
}

/// Returns all hyper-parameters of a description, verified.
static nb::dict getTransformer(const std::string &description) {
  TransformerConfig config = readTransformer(description);
  if (llvm::Error error = config.verify())
    throw nb::value_error(llvm::toString(std::move(error)).c_str());
  nb::dict result;
  for (const TransformerConfig::IntegerField &field : TransformerConfig::getIntegerFields())
    result[nb::str(field.key.data(), field.key.size())] = config.*field.member;
  result["rope_theta"] = config.ropeTheta;
  return result;
}

static int64_t getParameterCount(const std::string &description) {
  return readTransformer(description).getParameterCount();
}

static std::vector<std::string> getSizeNames() {
  llvm::SmallVector<llvm::StringRef> names = TransformerConfig::getSizeNames();
  return {names.begin(), names.end()};
}

static std::vector<std::string> splitOptions(const std::string &text) {
  std::vector<std::string> options;
  for (llvm::StringRef option : splitPipelineOptions(text))
    options.push_back(option.str());
  return options;
}

/// Maps each operation of the dialect to true if it can be differentiated, directly or after its decomposition.
static nb::dict getOperations() {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<CS336Dialect>();
  nb::dict operations;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == CS336Dialect::getDialectNamespace())
      operations[nb::str(name.getStringRef().str().c_str())] =
          name.hasInterface<DifferentiableOpInterface>() || name.hasInterface<DecomposableOpInterface>();
  return operations;
}

void python::bindCompiler(nb::module_ &module) {
  registerAllPasses();
  nb::class_<IRModule>(module, "Module")
      .def_static("build", &IRModule::build, nb::arg("description"))
      .def_static("parse", &IRModule::parse, nb::arg("text"), nb::arg("name"))
      .def("print", &IRModule::print, nb::arg("locations"), nb::call_guard<nb::gil_scoped_release>())
      .def("run_passes", &IRModule::runPasses, nb::arg("pipeline"), nb::call_guard<nb::gil_scoped_release>())
      .def("compile", &compile, nb::arg("pipeline"), nb::arg("device"), nb::arg("architectures"), nb::arg("use_cache"),
           nb::arg("dump_dir"), nb::arg("reads_device_memory"))
      .def("costs", &getCosts);
  module.def("split_pipeline_options", &splitOptions, nb::arg("text"));
  module.def("transformer", &getTransformer, nb::arg("description"));
  module.def("parameter_count", &getParameterCount, nb::arg("description"));
  module.def("size_names", &getSizeNames);
  module.def("operations", &getOperations);
}
