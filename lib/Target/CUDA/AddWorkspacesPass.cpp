//===- AddWorkspacesPass.cpp - Scratch memory of commands on the GPU ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleSchedules.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

namespace cs336 {
#define GEN_PASS_DEF_ADDWORKSPACESPASS
#include "cs336/Target/CUDA/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
struct AddWorkspacesPass : cs336::impl::AddWorkspacesPassBase<AddWorkspacesPass>, CountingPass {
  using AddWorkspacesPassBase::AddWorkspacesPassBase;

  void runOnOperation() override {
    if (failed(addWorkspaces()))
      signalPassFailure();
  }

private:
  LogicalResult addWorkspaces();

  PassCounter numLaunches{this, "num-launches", "Number of launches that got a workspace"};
  PassCounter numGemms{this, "num-gemms", "Number of GEMMs that got a workspace"};
};
} // namespace

/// Creates the workspace before the command.
static Value allocate(Operation *command, int64_t bytes) {
  OpBuilder builder(command);
  auto type = MemRefType::get(llvm::divideCeilSigned(bytes, sizeof(float)), builder.getF32Type());
  return exec::AllocOp::create(builder, command->getLoc(), type, IntegerAttr());
}

LogicalResult AddWorkspacesPass::addWorkspaces() {
  ModuleOp module = getOperation();
  if (gemmBytes < 0 || gemmBytes % sizeof(float) != 0)
    return module.emitError() << "gemm-bytes must be a multiple of 4 that is not negative, is " << gemmBytes.getValue();

  const auto &schedules = getAnalysis<cuda::ModuleSchedules>();
  if (!schedules.isComplete())
    return failure();

  module.walk([&](exec::LaunchOp launch) {
    int64_t bytes = schedules.getWorkspaceBytes(launch.getKernel());
    if (bytes == 0 || launch.getWorkspace())
      return;
    launch.getWorkspaceMutable().assign(allocate(launch, bytes));
    ++numLaunches;
  });
  if (gemmBytes == 0)
    return success();
  module.walk([&](exec::GemmOp gemm) {
    if (gemm.getWorkspace())
      return;
    gemm.getWorkspaceMutable().assign(allocate(gemm, gemmBytes));
    ++numGemms;
  });
  return success();
}
