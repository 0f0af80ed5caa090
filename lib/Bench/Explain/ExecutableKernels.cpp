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
#include "llvm/ADT/StringSet.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

Target bench::getTarget(const runtime::Executable &executable) {
  return executable.description().target == format::Target::cuda ? Target::CUDA : Target::CPU;
}

/// Returns the kind of commands without a kernel that are explained, or "".
static StringRef getKind(const format::CommandT &command) {
  if (command.body.AsGemm())
    return kGemm;
  return command.body.AsCopy() ? StringRef(kCopy) : "";
}

/// Returns kernels, and then the names of GEMMs and copies in order of first use.
static std::vector<KernelFacts> listCommands(const runtime::Executable &executable) {
  std::vector<KernelFacts> commands;
  for (const auto &kernel : executable.description().kernels) {
    commands.emplace_back().name = kernel->name;
    commands.back().operations.text = kernel->comment;
  }
  llvm::StringSet<> known;
  for (const auto &entry : executable.entries())
    for (const auto &command : entry->commands)
      if (StringRef kind = getKind(*command); !kind.empty() && known.insert(command->name).second) {
        commands.emplace_back().name = command->name;
        commands.back().kind = kind.str();
      }
  return commands;
}

static void addLaunches(const runtime::Executable &executable, const DeviceModel &device,
                        llvm::StringMap<KernelFacts *> &kernels) {
  for (const auto &entry : executable.entries())
    for (const auto &command : entry->commands) {
      const format::LaunchT *launch = command->body.AsLaunch();
      KernelFacts *facts = kernels.lookup(command->name);
      if (!facts)
        continue;
      exec::Work work;
      (launch ? work.launches : command->body.AsGemm() ? work.gemms : work.others) = 1;
      work.flops = command->flops;
      work.bytes = command->bytes;
      facts->addWork(work, command->arithmetic, device);
      facts->addLaunch(entry->name, format::EnumNamePhase(command->phase), command->source, command->location);
      if (launch && executable.description().target == format::Target::cpu && facts->schedules.empty())
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
  ExplainedProgram program;
  program.target = getTarget(executable);
  for (const auto &entry : executable.entries())
    program.entries.push_back(entry->name);
  program.kernels = listCommands(executable);
  llvm::StringMap<KernelFacts *> kernels;
  if (absl::Status status = selectCommands(program, select, kernels); !status.ok())
    return status;
  for (const auto &kernel : description.kernels)
    if (KernelFacts *facts = kernels.lookup(kernel->name))
      for (const auto &implementation : kernel->implementations)
        if (absl::Status status = addImplementation(*implementation, description, *facts); !status.ok())
          return status;
  addLaunches(executable, device, kernels);
  program.notes.emplace_back("an executable has neither the locations of operations nor the parameters of schedules: "
                             "explain the IR that it was compiled from");
  return program;
}
