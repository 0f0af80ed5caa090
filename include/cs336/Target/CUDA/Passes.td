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

def BatchLaunchesPass : Pass<"exec-batch-launches", "::mlir::ModuleOp"> {
  let summary = "Merges launches that do the same thing to different buffers";
  let description = [{
    Updates of parameters are one launch a parameter, and each of a few microseconds that the device mostly waits. This pass makes
    one launch of those that differ in nothing but their buffers and sizes. Members of a batch have the same body up to shapes:
    pointwise, or a reduction to single elements, that walks through its operands in the order of memory or reads single
    elements. They stand on one stream and belong to one phase. The merged launch stands in the place of the last member.

    A member may move there if no command that it passes, other members included, writes what it touches or reads what it writes, and
    none records an event or waits for one. That is asked of storage, not of elements. Batches that would raise the entry's
    largest live set, because operands live on until their member's new place, stay apart, as do those of fewer than
    `min-members`. A launch has at most 32764 bytes of pointers; longer batches become several.

    The merged kernel holds the members' bodies side by side. Single elements that all members read from one buffer are one
    operand.

    Contract: after `--exec-copies-to-kernels`, before `--exec-add-workspaces`: launches that have a workspace stay. A second run
    changes nothing. Kernels that nothing launches any more are removed.

    Before, with `min-members=2`:

    ```mlir
    exec.kernel @mul_1f02(%x: tensor<8x4xf32>, %s: tensor<f32>) : (memref<8x4xf32>, memref<f32>) -> memref<8x4xf32> {
      %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<8x4xf32>
      %1 = cs336.mul %x, %0 : tensor<8x4xf32>
      exec.yield %1 : tensor<8x4xf32>
    }
    exec.kernel @mul_9d40(%x: tensor<6xf32>, %s: tensor<f32>) : (memref<6xf32>, memref<f32>) -> memref<6xf32> {
      %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<6xf32>
      %1 = cs336.mul %x, %0 : tensor<6xf32>
      exec.yield %1 : tensor<6xf32>
    }
    exec.launch @mul_1f02 ins(%a, %s : memref<8x4xf32>, memref<f32>) outs(%a : memref<8x4xf32>)
    exec.launch @mul_9d40 ins(%b, %s : memref<6xf32>, memref<f32>) outs(%b : memref<6xf32>)
    ```

    After:

    ```mlir
    exec.kernel @mul_batch_bd08(%x0: tensor<8x4xf32>, %x1: tensor<6xf32>, %s: tensor<f32>)
        : (memref<8x4xf32>, memref<6xf32>, memref<f32>) -> (memref<8x4xf32>, memref<6xf32>) {
      %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<8x4xf32>
      %1 = cs336.mul %x0, %0 : tensor<8x4xf32>
      %2 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<6xf32>
      %3 = cs336.mul %x1, %2 : tensor<6xf32>
      exec.yield %1, %3 : tensor<8x4xf32>, tensor<6xf32>
    }
    exec.launch @mul_batch_bd08 ins(%a, %b, %s : memref<8x4xf32>, memref<6xf32>, memref<f32>) outs(%a, %b : memref<8x4xf32>, memref<6xf32>)
    ```

    A missed-optimization remark (`--remarks-filter-missed=exec-batch-launches`) names batches that memory keeps apart.

    Counts `num-launches`, launches that became part of another, `num-batches`, launches that they became, and
    `num-kernels`, kernels created.
  }];
  let options = [Option<"minMembers", "min-members", "unsigned", /*default=*/"4", "Fewest launches that become one: at least 2">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // CS336_TARGET_CUDA_PASSES_TD
