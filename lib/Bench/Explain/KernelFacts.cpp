//===- KernelFacts.cpp - Properties of kernels and GEMMs ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/KernelFacts.h"

#include "cs336/Support/LayerPath.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace cs336;
using namespace cs336::bench;

int64_t KernelFacts::countLaunches() const {
  int64_t count = 0;
  for (const LaunchGroup &group : launches)
    count += group.count;
  return count;
}

void KernelFacts::addLaunch(llvm::StringRef entry, llvm::StringRef phase, llvm::StringRef source,
                            llvm::StringRef location) {
  std::string operation = mergeLayers(source);
  auto known = llvm::find_if(launches, [&](const LaunchGroup &group) {
    return group.entry == entry && group.phase == phase && group.operation == operation;
  });
  if (known == launches.end())
    known = launches.insert(known, {entry.str(), phase.str(), operation, {}, 0, location.str()});
  ++known->count;
  if (llvm::StringRef layer = getLayer(source); !layer.empty())
    known->layers.insert(layer.str());
}

void KernelFacts::addWork(const exec::Work &work, format::Arithmetic type, const DeviceModel &device) {
  PredictedTime time = predictTime(device, work, type);
  bytes += work.bytes;
  flops += work.flops;
  expectedSeconds += time.getTotal();
  predicted.memory += time.memory;
  predicted.compute += time.compute;
  predicted.launch += time.launch;
  arithmetic = nameArithmetic(type);
}

double KernelFacts::getMean(double sum) const {
  return sum / static_cast<double>(std::max<int64_t>(countLaunches(), 1));
}

PredictedTime KernelFacts::getPredicted() const {
  return {getMean(predicted.memory), getMean(predicted.compute), getMean(predicted.launch)};
}

void bench::addOccupancy(FunctionFacts &function) {
  cuda::BlockResources block{function.function.threads, function.resources->registersPerThread,
                             function.resources->staticSharedBytes + function.function.sharedBytes};
  function.occupancy = cuda::computeOccupancy(block, cuda::getTarget(function.architecture));
}

std::string bench::nameArithmetic(format::Arithmetic arithmetic) {
  return arithmetic == format::Arithmetic::none ? "" : format::EnumNameArithmetic(arithmetic);
}

absl::Status bench::selectCommands(ExplainedProgram &program, SelectKernels select,
                                   llvm::StringMap<KernelFacts *> &byName) {
  program.numKernels = program.kernels.size();
  std::vector<llvm::StringRef> names;
  for (const KernelFacts &kernel : program.kernels)
    names.emplace_back(kernel.name);
  absl::StatusOr<std::vector<std::string>> selected = select(names);
  if (!selected.ok())
    return selected.status();
  llvm::erase_if(program.kernels,
                 [&](const KernelFacts &kernel) { return !llvm::is_contained(*selected, kernel.name); });
  for (KernelFacts &kernel : program.kernels)
    byName[kernel.name] = &kernel;
  return absl::OkStatus();
}
