//===- SelectSchedulesPass.cpp - Schedules of kernels as attributes -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleSchedules.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Support/ReadInput.h"
#include "cs336/Target/CUDA/EmitCUDA.h"
#include "cs336/Target/CUDA/Passes.h"
#include "cs336/Target/CUDA/TunedSchedules.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cs336 {
#define GEN_PASS_DEF_SELECTSCHEDULESPASS
#include "cs336/Target/CUDA/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
struct SelectSchedulesPass : cs336::impl::SelectSchedulesPassBase<SelectSchedulesPass> {
  using SelectSchedulesPassBase::SelectSchedulesPassBase;

  void runOnOperation() override {
    if (!architectures.empty())
      cuda::setArchitectures(getOperation(), std::vector<std::string>(architectures.begin(), architectures.end()));
    if (!tuned.empty() && failed(selectTuned()))
      return signalPassFailure();
    // Schedules that an earlier pass has preserved may be for other architectures, or made without the tuned ones.
    getAnalysisManager().invalidate({});
    const auto &schedules = getAnalysis<cuda::ModuleSchedules>();
    if (!schedules.isComplete())
      return signalPassFailure();
    schedules.writeSelections();
    // The attributes select what the analysis has already chosen.
    markAnalysesPreserved<cuda::ModuleSchedules>();
  }

private:
  FailureOr<cuda::TunedSchedules> readTuned();
  LogicalResult selectTuned();
};
} // namespace

FailureOr<cuda::TunedSchedules> SelectSchedulesPass::readTuned() {
  auto fail = [&](llvm::Error error) -> FailureOr<cuda::TunedSchedules> {
    return emitError(getOperation().getLoc()) << "option tuned: " << llvm::toString(std::move(error));
  };
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInput(tuned);
  if (!file)
    return fail(file.takeError());
  llvm::Expected<cuda::TunedSchedules> schedules = cuda::TunedSchedules::parse((*file)->getBuffer(), &getContext());
  if (!schedules)
    return fail(llvm::createStringError(tuned.getValue() + ": " + llvm::toString(schedules.takeError())));
  return std::move(*schedules);
}

LogicalResult SelectSchedulesPass::selectTuned() {
  FailureOr<cuda::TunedSchedules> schedules = readTuned();
  return failure(failed(schedules) || failed(selectTunedSchedules(getOperation(), *schedules)));
}
