//===- Passes.td - Passes that prepare programs for GPUs -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_PASSES_TD
#define CS336_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def AddWorkspacesPass : Pass<"exec-add-workspaces", "::mlir::ModuleOp"> {
  let summary = "Gives commands the scratch memory that they need on the GPU";
  let description = [{
    A launch whose kernel's schedule hands partial results from one function to the next gets a workspace of the size that
    the schedule asks for. Every product gets one of `gemm-bytes`: without it cuBLASLt cannot take the algorithms that split
    the summed axis among blocks. The default is what cuBLAS itself recommends for compute capability 9.0.

    Contract: runs before `--exec-plan-memory`, which lets a workspace share its bytes with everything that is not live during
    the command: in a training step it costs little. What has a workspace keeps it. Refuses a kernel that no schedule
    accepts.

    Before:

    ```mlir
    exec.launch @sum_7c1e ins(%x : memref<1048576xf32>) outs(%norm : memref<f32>)
    exec.gemm ins(%a, %b : memref<96x64xf32>, memref<64x192xf32>) outs(%c : memref<96x192xf32>)
    ```

    After:

    ```mlir
    %w0 = exec.alloc : memref<256xf32>
    exec.launch @sum_7c1e ins(%x : memref<1048576xf32>) outs(%norm : memref<f32>) workspace(%w0 : memref<256xf32>)
    %w1 = exec.alloc : memref<8388608xf32>
    exec.gemm ins(%a, %b : memref<96x64xf32>, memref<64x192xf32>) outs(%c : memref<96x192xf32>) workspace(%w1 : memref<8388608xf32>)
    ```

    Counts `num-launches` and `num-products`, commands that got a workspace.
  }];
  let options = [Option<"gemmBytes", "gemm-bytes", "int64_t", /*default=*/"33554432",
                        "Bytes of the workspace of a product: a multiple of 4, 0 for none">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // CS336_TARGET_CUDA_PASSES_TD
