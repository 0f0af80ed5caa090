//===- Passes.td - Passes that show the input of the targets -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_CODEGEN_PASSES_TD
#define CS336_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelsToLinalgPass : Pass<"exec-kernels-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Show the linalg form of every kernel";
  let description = [{
    Replaces every `exec.kernel` with a function of its inputs and outputs on tensors. The operations are lowered by
    `FusibleOpInterface`, and producers are fused. All targets read this form.

    The pass removes entries and variables. The result is for reading and for tests: targets lower the kernels
    themselves.

    Before:

    ```mlir
    exec.kernel @scale(%a: tensor<8xf32>) : (memref<8xf32>) -> memref<8xf32> {
      %half = cs336.constant dense<5.0e-01> : tensor<8xf32>
      %0 = cs336.mul %a, %half : tensor<8xf32>
      exec.yield %0 : tensor<8xf32>
    }
    ```

    After:

    ```mlir
    func.func @scale(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
      %cst = arith.constant 5.000000e-01 : f32
      %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%arg0 : tensor<8xf32>) outs(%arg1 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %1 = arith.mulf %in, %cst : f32
        linalg.yield %1 : f32
      } -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```

    Counts `num-kernels`, kernels lowered; `num-generics`, `linalg.generic` operations in them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // CS336_CODEGEN_PASSES_TD
