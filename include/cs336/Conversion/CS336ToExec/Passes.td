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
  let summary = "Functions on tensors become entry points: buffers and commands in order";
  let description = [{
    Every function with `cs336.mode` becomes an `exec.entry` of its name. Parameters and state become one `exec.variable` a name for
    the whole module, inputs and outputs become ports.

    - Fusible operations are groups of one, `cs336.fused` is a group of many. A group is outlined as an `exec.kernel`; groups of
      equal structure and layouts share one, so the number of kernels does not grow with the number of layers. Constants,
      iotas and broadcasts are computed again in every kernel that reads them, and get storage only where something else does.
    - Layout operations become `exec.view` where strides can say them. Where they cannot, a copy comes first.
    - Products and collectives become commands (`CommandLoweringInterface`). A product whose right side serves all batches is
      one large product where the left side's layout allows.
    - Results are written where they belong: an output's or gradient's storage, or the variable that they replace. The latter
      needs that nothing reads the old value later, and that the kernel reads it element by element if at all; otherwise the
      value goes through a temporary and a copy at the end.
    - A pointwise launch writes over an operand of its result's layout that nothing reads afterwards.

    Contract: after `cs336-decompose`, on functions of one block. What is left of the cs336 dialect stands in kernels. Refuses operations
    that are neither fusible nor a view nor a command, variables whose functions disagree on type, kind, views or initial value, and ports
    without kind or name.

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

    Counts `num-entries`, entry points; `num-kernels`, distinct kernels; `num-launches`, launches;
    `num-required-copies`, copies because strides cannot say a layout; `num-result-copies`, copies of results at the end
    of an entry; `num-in-place`, results written over an operand or a variable's old value.
  }];
  let dependentDialects = ["::cs336::exec::ExecDialect"];
}

#endif // CS336_CONVERSION_CS336TOEXEC_PASSES_TD
