//===- SelectSchedules.cpp - Schedules as attributes of kernels -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "cs336/Target/CUDA/EmitCUDA.h"
#include "cs336/Target/CUDA/TunedSchedules.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

static constexpr RemarkOptions selectSchedulesRemarks("cuda-select-schedules");

/// Writes the tuned schedule of an attention without a selection, if it has one for the emitter's target.
static LogicalResult selectTuned(exec::KernelOp kernel, const KernelEmitter &emitter, const TunedSchedules &tuned) {
  const TargetDescription &target = emitter.getDescription();
  FailureOr<std::optional<ScheduleSelection>> own = readSelection(kernel, target);
  if (failed(own))
    return failure();
  if (*own || tuned.getArchitecture() != target.name)
    return success();
  FailureOr<TunableKernel> tunable = emitter.listCandidates(kernel);
  if (failed(tunable))
    return failure();
  if (tunable->candidates.size() < 2)
    return success();
  const TunedSchedule *found = tuned.find(tunable->problem);
  if (!found) {
    remark::missed(kernel.getLoc(), selectSchedulesRemarks("NotTuned"))
        << remark::add("{0}: no tuned schedule for {1}", kernel.getSymName().str(), tunable->problem);
    return success();
  }
  writeSelection(kernel, target, found->selection);
  remark::passed(kernel.getLoc(), selectSchedulesRemarks("Tuned"))
      << remark::add("{0}: {1}, which took {2:f1} us; {3:f1} us without tuning", kernel.getSymName().str(),
                     describeSelection(found->selection), found->microseconds, found->defaultMicroseconds);
  return success();
}

LogicalResult cs336::selectTunedSchedules(ModuleOp module, const TunedSchedules &tuned) {
  FailureOr<std::vector<std::string>> architectures = getArchitectures(module);
  if (failed(architectures))
    return failure();
  for (const TargetEmitter &target : createEmitters(module, *architectures))
    for (auto kernel : module.getOps<exec::KernelOp>())
      if (failed(selectTuned(kernel, target.emitter, tuned)))
        return failure();
  return success();
}

FailureOr<std::vector<TunableKernel>> cuda::findTunableKernels(ModuleOp module, StringRef architecture) {
  const TargetDescription &target = getTarget(architecture);
  KernelEmitter emitter(module, target);
  std::vector<TunableKernel> tunables;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    FailureOr<std::optional<ScheduleSelection>> own = readSelection(kernel, target);
    if (failed(own))
      return failure();
    if (!emitter.isLaunched(kernel))
      continue;
    FailureOr<TunableKernel> tunable = emitter.listCandidates(kernel);
    if (failed(tunable))
      return failure();
    // Other selections are a person's choice, which timing does not replace.
    if (tunable->candidates.size() > 1 && (!*own || **own == tunable->candidates.front()))
      tunables.push_back(*std::move(tunable));
  }
  return tunables;
}
