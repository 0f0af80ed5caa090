//===- KernelsToCPUPass.cpp - Shows the code of CPU kernels ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstructionSet.h"
#include "LowerToLLVM.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Target/CPU/CPUTarget.h"
#include "cs336/Target/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace cs336 {
#define GEN_PASS_DEF_KERNELSTOCPUPASS
#include "cs336/Target/CPU/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
struct KernelsToCPUPass : cs336::impl::KernelsToCPUPassBase<KernelsToCPUPass>, CountingPass {
  using KernelsToCPUPassBase::KernelsToCPUPassBase;

  void runOnOperation() override {
    FailureOr<cpu::InstructionSet> target = cpu::findInstructionSet(cpuName, getOperation().getLoc());
    if (failed(target))
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody())) {
      if (isa<exec::EntryOp, exec::VariableOp>(op))
        op.erase();
      else if (auto kernel = dyn_cast<exec::KernelOp>(op))
        if (failed(lower(kernel, *target)))
          return signalPassFailure();
    }
    if (toLLVM && failed(cpu::lowerToLLVM(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult lower(exec::KernelOp kernel, const cpu::InstructionSet &target) {
    OpBuilder builder(kernel);
    CompiledKernel compiled;
    FailureOr<LLVM::LLVMFuncOp> function = lowerKernelToCPULoops(kernel, target.vectorBits, builder, compiled);
    if (failed(function))
      return failure();
    (*function)->setAttr("rows", builder.getI64IntegerAttr(compiled.rows));
    (*function)->setAttr("grain", builder.getI64IntegerAttr(compiled.grain));
    if (compiled.threadBytes != 0)
      (*function)->setAttr("thread_bytes", builder.getI64IntegerAttr(compiled.threadBytes));
    kernel.erase();
    ++numKernels;
    return success();
  }

  PassCounter numKernels{this, "num-kernels", "Number of kernels lowered"};
};
} // namespace
