//===- Passes.td - Conversion of the cs336 dialect to exec -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_CONVERSION_CS336TOEXEC_PASSES_TD
#define CS336_CONVERSION_CS336TOEXEC_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertCS336ToExecPass : Pass<"convert-cs336-to-exec", "::mlir::ModuleOp"> {
  let summary = "Convert functions on tensors to entries: buffers, and commands in order";
  let description = [{
    Converts every function with `cs336.mode` to an `exec.entry` of the same name. Parameters, state and derived values
    become one `exec.variable` per name for the whole module. Inputs and outputs become `exec.input` and `exec.output`.

    - **Kernels.** Each `cs336.fused`, and each fusible operation outside a group, is outlined as an `exec.kernel`.
      Groups with equal structure and layouts share one kernel, so the number of kernels does not grow with the number
      of layers. Every kernel computes the constants, iotas and broadcasts that it reads again. They get storage only if
      another operation reads them.
    - **Views.** Layout operations become `exec.view` if strides can express the result. Otherwise a copy comes first.
    - **Commands.** Matmuls and collectives become commands (`CommandLoweringInterface`). If all batches of a matmul
      share the right operand, it becomes one large GEMM, provided that the layout of the left operand allows it.
    - **Results.** A result is written directly to the storage of the output or gradient, or to the variable that it
      replaces. For a variable, no later command may read the old value, and the kernel may read it only element by
      element. Otherwise the value is computed in a temporary buffer and copied at the end.
    - **In place.** An element-wise launch, an all-reduce or a broadcast writes over an operand with the layout of its
      result, if no later command reads that operand.

    Run it after `cs336-decompose`, on functions with one block. Afterwards, operations of the cs336 dialect are left in
    kernels only. Errors: an operation that is neither fusible nor a view nor a command, functions that disagree on the
    type, kind, views or initial value of a variable, an argument or a result without kind or name, and a function on
    tensors without `cs336.mode`.

    Missed-optimization remarks: `LayoutCopied`, `OperandCopied` and `VariableCopied`, one for each copy.

    Before:

    ```mlir
    func.func @forward(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
                       %w: tensor<2x8xf32> {cs336.kind = "parameter", cs336.name = "w"})
        -> (tensor<4x2xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
      %h = cs336.matmul %x, %w {transpose_b} : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<4x2xf32>
      %y = cs336.sigmoid %h : tensor<4x2xf32>
      return %y : tensor<4x2xf32>
    }
    ```

    After:

    ```mlir
    exec.variable @w parameter : memref<2x8xf32>
    exec.kernel @sigmoid_3f2a(%arg0: tensor<4x2xf32>) : (memref<4x2xf32>) -> memref<4x2xf32> {
      %0 = cs336.sigmoid %arg0 : tensor<4x2xf32>
      exec.yield %0 : tensor<4x2xf32>
    }
    exec.entry @forward mode<forward> {
      %x = exec.input "x" : memref<4x8xf32>
      %w = exec.get @w : memref<2x8xf32>
      %y = exec.output "y" output : memref<4x2xf32>
      %0 = exec.alloc : memref<4x2xf32>
      %1 = exec.view %w : memref<2x8xf32> to memref<8x2xf32, strided<[1, 8]>>
      exec.gemm ins(%x, %1 : memref<4x8xf32>, memref<8x2xf32, strided<[1, 8]>>) outs(%0 : memref<4x2xf32>)
      exec.launch @sigmoid_3f2a ins(%0 : memref<4x2xf32>) outs(%y : memref<4x2xf32>)
    }
    ```

    Counts `num-entries`, entries; `num-kernels`, distinct kernels; `num-launches`, launches; `num-required-copies`,
    copies because strides cannot express a layout; `num-result-copies`, copies of results at the end of an entry;
    `num-in-place`, results written over an operand or over the old value of a variable.
  }];
  let dependentDialects = ["::cs336::exec::ExecDialect"];
}

#endif // CS336_CONVERSION_CS336TOEXEC_PASSES_TD
