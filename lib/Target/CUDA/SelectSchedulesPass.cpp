//===- SelectSchedulesPass.cpp - Schedules of kernels as attributes -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CUDA/EmitCUDA.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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
    if (failed(selectSchedules(getOperation())))
      signalPassFailure();
  }
};
} // namespace
