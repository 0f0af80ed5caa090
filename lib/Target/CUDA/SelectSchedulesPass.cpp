//===- SelectSchedulesPass.cpp - Schedules of kernels as attributes -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

#include <optional>

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
    std::optional<cuda::TunedSchedules> schedules;
    if (!tuned.empty()) {
      FailureOr<cuda::TunedSchedules> read = readTuned();
      if (failed(read))
        return signalPassFailure();
      schedules = *std::move(read);
    }
    if (failed(selectSchedules(getOperation(), schedules ? &*schedules : nullptr)))
      signalPassFailure();
  }

private:
  FailureOr<cuda::TunedSchedules> readTuned();
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
