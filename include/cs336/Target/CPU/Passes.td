//===- Passes.td - Passes that show the code of CPU kernels -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CPU_PASSES_TD
#define CS336_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelsToCPUPass : Pass<"exec-kernels-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Shows the loops that every kernel becomes on the CPU";
  let description = [{
    Every `exec.kernel` becomes the function that the CPU target compiles: loops over rows and, in them, one loop nest a phase,
    around loads, scalar operations and stores. `rows` and `grain` are what the runtime shares among threads. Entries and
    variables are dropped: the result is for people and tests; the target lowers kernels itself.

    With `to-llvm` the functions are in the LLVM dialect, which `mlir-translate --mlir-to-llvmir` reads.

    Before:

    ```mlir
    exec.kernel @row_sums(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<4xf32> {
      %s = cs336.reduce sum %x axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
      exec.yield %s : tensor<4xf32>
    }
    ```

    After (addresses left out):

    ```mlir
    llvm.func @cs336_row_sums(%buffers: !llvm.ptr, %begin: i64, %end: i64) attributes {grain = 4 : i64, rows = 4 : i64} {
      scf.for %row = %begin to %end step %c1 : i64 {
        llvm.store %zero, %out_row : f32, !llvm.ptr
        %total = scf.for %column = %c0 to %c8 step %c1 iter_args(%sum = %neutral) -> (f32) : i64 {
          %x = llvm.load %x_row_column : !llvm.ptr -> f32
          %next = arith.addf %x, %sum fastmath<reassoc> : f32
          scf.yield %next : f32
        }
        %old = llvm.load %out_row : !llvm.ptr -> f32
        %new = arith.addf %old, %total fastmath<reassoc> : f32
        llvm.store %new, %out_row : f32, !llvm.ptr
      }
      llvm.return
    }
    ```

    Counts `num-kernels`, kernels lowered.
  }];
  let options = [Option<"toLLVM", "to-llvm", "bool", /*default=*/"false", "Go on to the LLVM dialect">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // CS336_TARGET_CPU_PASSES_TD
