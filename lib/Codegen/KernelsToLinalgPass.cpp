//===- KernelsToLinalgPass.cpp - Shows the linalg form of kernels ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Codegen/KernelToLinalg.h"
#include "cs336/Codegen/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cs336 {
#define GEN_PASS_DEF_KERNELSTOLINALGPASS
#include "cs336/Codegen/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
struct KernelsToLinalgPass : cs336::impl::KernelsToLinalgPassBase<KernelsToLinalgPass>, CountingPass {
  void runOnOperation() override {
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody())) {
      if (isa<exec::EntryOp, exec::VariableOp>(op))
        op.erase();
      else if (auto kernel = dyn_cast<exec::KernelOp>(op))
        if (failed(lower(kernel)))
          return signalPassFailure();
    }
  }

private:
  LogicalResult lower(exec::KernelOp kernel) {
    OpBuilder builder(kernel);
    FailureOr<func::FuncOp> func = lowerKernelToLinalg(kernel, builder);
    if (failed(func))
      return failure();
    ++numKernels;
    func->walk([&](linalg::GenericOp) { ++numGenerics; });
    kernel.erase();
    return success();
  }

  PassCounter numKernels{this, "num-kernels", "Number of kernels lowered"};
  PassCounter numGenerics{this, "num-generics", "Number of linalg.generic operations in the kernels"};
};
} // namespace
