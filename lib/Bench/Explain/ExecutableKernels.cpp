//===- ExecutableKernels.cpp - Kernels of an executable -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/ExecutableKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

Target bench::getTarget(const runtime::Executable &executable) {
  return executable.description().target == format::Target::cuda ? Target::CUDA : Target::CPU;
}

static void addLaunches(const runtime::Executable &executable, const DeviceModel &device,
                        llvm::StringMap<KernelFacts *> &kernels) {
  for (const auto &entry : executable.entries())
    for (const auto &command : entry->commands) {
      const format::LaunchT *launch = command->body.AsLaunch();
      KernelFacts *facts = launch ? kernels.lookup(executable.description().kernels[launch->kernel]->name) : nullptr;
      if (!facts)
        continue;
      facts->work = {};
      facts->work.launches = 1;
      facts->work.flops = command->flops;
      facts->work.bytes = command->bytes;
      facts->arithmetic = nameArithmetic(command->arithmetic);
      facts->predicted = predictTime(device, facts->work, command->arithmetic);
      facts->addLaunch(entry->name, format::EnumNamePhase(command->phase), command->source, command->location);
      if (executable.description().target == format::Target::cpu && facts->schedules.empty())
        facts->schedules.push_back(
            {"cpu", "rows", absl::StrCat("{rows = ", launch->rows, ", grain = ", launch->grain, "}")});
    }
}

static absl::Status addImplementation(const format::ImplementationT &implementation, const format::ExecutableT &program,
                                      KernelFacts &facts) {
  SmallVector<std::string> targets;
  for (uint32_t object : implementation.objects)
    targets.push_back(program.objects[object]->target);
  if (!implementation.text.empty())
    facts.texts.push_back({"text for " + llvm::join(targets, ", "), "cuda", implementation.text});
  if (program.target != format::Target::cuda)
    return absl::OkStatus();
  for (uint32_t object : implementation.objects) {
    const format::CodeObjectT &code = *program.objects[object];
    llvm::Expected<std::vector<CubinResources>> resources = readCubinResources(code.image);
    if (!resources)
      return absl::DataLossError(absl::StrCat("machine code of kernel '", facts.name, "' for ", code.target, ": ",
                                              llvm::toString(resources.takeError())));
    for (const auto &function : implementation.functions) {
      FunctionFacts &added = facts.functions.emplace_back();
      added.architecture = code.target;
      added.function.symbol = function->symbol;
      added.function.blocks = function->blocks;
      added.function.threads = function->threads;
      added.function.sharedBytes = function->shared_bytes;
      added.function.cluster = function->cluster;
      for (const CubinResources &each : *resources)
        if (each.name == function->symbol)
          added.resources = each;
      if (added.resources)
        addOccupancy(added);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ExplainedProgram> bench::explainExecutable(const runtime::Executable &executable,
                                                          const DeviceModel &device, SelectKernels select) {
  const format::ExecutableT &description = executable.description();
  SmallVector<StringRef> names =
      llvm::map_to_vector(description.kernels, [](const auto &kernel) -> StringRef { return kernel->name; });
  absl::StatusOr<std::vector<std::string>> selected = select(names);
  if (!selected.ok())
    return selected.status();
  ExplainedProgram program;
  program.target = getTarget(executable);
  for (const auto &entry : executable.entries())
    program.entries.push_back(entry->name);
  program.numKernels = names.size();
  program.kernels.resize(selected->size());
  llvm::StringMap<KernelFacts *> kernels;
  for (auto [name, facts] : llvm::zip_equal(*selected, program.kernels)) {
    facts.name = name;
    kernels[name] = &facts;
  }
  for (const auto &kernel : description.kernels)
    if (KernelFacts *facts = kernels.lookup(kernel->name)) {
      facts->operations = {"operations", "mlir", kernel->comment};
      for (const auto &implementation : kernel->implementations)
        if (absl::Status status = addImplementation(*implementation, description, *facts); !status.ok())
          return status;
    }
  addLaunches(executable, device, kernels);
  program.notes.emplace_back("an executable has neither the locations of operations nor the parameters of schedules: "
                             "explain the IR that it was compiled from");
  return program;
}
