//===- ModuleSchedules.cpp - The schedules of a module's kernels ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleSchedules.h"

#include "KernelEmitter.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

ModuleSchedules::ModuleSchedules(Operation *module) : complete(succeeded(scheduleAll(cast<ModuleOp>(module)))) {}

LogicalResult ModuleSchedules::scheduleAll(ModuleOp module) {
  FailureOr<std::vector<std::string>> architectures = getArchitectures(module);
  if (failed(architectures))
    return failure();
  std::vector<TargetEmitter> emitters = createEmitters(module, *architectures);
  SmallVector<exec::KernelOp> kernels(module.getOps<exec::KernelOp>());
  selections.resize(kernels.size() * emitters.size());
  std::vector<int64_t> bytes(selections.size());
  LogicalResult areScheduled = forEachInParallel(module.getContext(), selections.size(), [&](size_t index) {
    exec::KernelOp kernel = kernels[index / emitters.size()];
    const KernelEmitter &emitter = emitters[index % emitters.size()].emitter;
    std::string whyNot;
    FailureOr<ScheduledParts> scheduled = emitter.schedule(kernel, whyNot);
    if (failed(scheduled))
      return failure();
    if (scheduled->parts.empty())
      return LogicalResult(emitRefusal(kernel, whyNot));
    selections[index] = {kernel, &emitter.getDescription(), scheduled->getSelection()};
    bytes[index] = scheduled->getWorkspaceBytes();
    return success();
  });
  if (failed(areScheduled))
    return failure();
  for (auto [selected, each] : llvm::zip_equal(selections, bytes)) {
    int64_t &most = workspaceBytes[selected.kernel.getSymName()];
    most = std::max(most, each);
  }
  return success();
}

void ModuleSchedules::writeSelections() const {
  for (const Selected &selected : selections)
    writeSelection(selected.kernel, *selected.target, selected.selection);
}
