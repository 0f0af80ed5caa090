//===- KernelFacts.cpp - Properties of a compiled kernel ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/KernelFacts.h"

#include "cs336/Support/LayerPath.h"
#include "llvm/ADT/STLExtras.h"

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

void bench::addOccupancy(FunctionFacts &function) {
  cuda::BlockResources block{function.function.threads, function.resources->registersPerThread,
                             function.resources->staticSharedBytes + function.function.sharedBytes};
  function.occupancy = cuda::computeOccupancy(block, cuda::getTarget(function.architecture));
}

std::string bench::nameArithmetic(format::Arithmetic arithmetic) {
  return arithmetic == format::Arithmetic::none ? "" : format::EnumNameArithmetic(arithmetic);
}
