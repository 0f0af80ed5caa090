//===- Passes.td - Passes over the exec dialect -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_PASSES_TD
#define CS336_DIALECT_EXEC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CopiesToKernelsPass : Pass<"exec-copies-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Replaces copies of strided buffers with launches of kernels";
  let description = [{
    For devices that copy bytes in a row but no elements that lie apart. A copy from a buffer that is not dense to one that is becomes
    the launch of a kernel that yields its operand; copies of equal layouts share the kernel. Other copies stay.

    Contract: any time after `--convert-cs336-to-exec`; memory plans stay valid.

    Before:

    ```mlir
    exec.copy ins(%a : memref<2x8xf32, strided<[1, 2]>>) outs(%b : memref<2x8xf32>)
    ```

    After:

    ```mlir
    exec.kernel @copy_6c1d(%x: tensor<2x8xf32>) : (memref<2x8xf32, strided<[1, 2]>>) -> memref<2x8xf32> {
      exec.yield %x : tensor<2x8xf32>
    }
    exec.launch @copy_6c1d ins(%a : memref<2x8xf32, strided<[1, 2]>>) outs(%b : memref<2x8xf32>)
    ```

    Counts `num-copies`, copies that became launches, and `num-kernels`, kernels created.
  }];
}

def PlanMemoryPass : Pass<"exec-plan-memory", "::cs336::exec::EntryOp"> {
  let summary = "Gives every allocation and output of an entry its place in one arena";
  let description = [{
    Two allocations may share bytes if every use of the one happens before every use of the other. On one stream that is the
    order of commands; between streams it takes `exec.record` and `exec.wait`, which vector clocks follow. An output is an
    allocation that is used until after the last command. Allocations are then placed one by one, the largest first, each into
    the smallest gap that fits between the placed ones that it interferes with; other orders are tried as long as the arena is
    larger than the largest live set, and the smallest arena wins.

    Contract: the last pass that changes buffers. Planning again replaces an earlier plan. Refuses commands that touch the same storage on
    different streams without events between them, if one of them writes.

    Before:

    ```mlir
    exec.entry @forward mode<forward> {
      %x = exec.input "x" : memref<256xf32>
      %y = exec.output "y" output : memref<256xf32>
      %a = exec.alloc : memref<256xf32>
      exec.launch @exp ins(%x : memref<256xf32>) outs(%a : memref<256xf32>)
      %b = exec.alloc : memref<256xf32>
      exec.launch @reverse ins(%a : memref<256xf32>) outs(%b : memref<256xf32>)
      %c = exec.alloc : memref<256xf32>
      exec.launch @reverse ins(%b : memref<256xf32>) outs(%c : memref<256xf32>)
      exec.launch @add ins(%b, %c : memref<256xf32>, memref<256xf32>) outs(%y : memref<256xf32>)
    }
    ```

    After:

    ```mlir
    exec.entry @forward mode<forward> arena_bytes = 3072 alignment = 64 {
      %x = exec.input "x" : memref<256xf32>
      %y = exec.output "y" output offset = 2048 : memref<256xf32>
      %a = exec.alloc offset = 0 : memref<256xf32>
      exec.launch @exp ins(%x : memref<256xf32>) outs(%a : memref<256xf32>)
      %b = exec.alloc offset = 1024 : memref<256xf32>
      exec.launch @reverse ins(%a : memref<256xf32>) outs(%b : memref<256xf32>)
      %c = exec.alloc offset = 0 : memref<256xf32>
      exec.launch @reverse ins(%b : memref<256xf32>) outs(%c : memref<256xf32>)
      exec.launch @add ins(%b, %c : memref<256xf32>, memref<256xf32>) outs(%y : memref<256xf32>)
    }
    ```

    An analysis remark (`--remarks-filter-analyse=exec-plan-memory`) gives the arena, the largest live set, and the number of
    allocations.

    Counts `num-allocations`, allocations and outputs placed; `arena-bytes`, bytes of all arenas; `live-bytes`, bytes of the
    largest live sets, which no plan can go below.
  }];
  let options = [Option<"alignment", "alignment", "uint64_t", "64", "Bytes that offsets are multiples of: a power of two">];
}

#endif // CS336_DIALECT_EXEC_TRANSFORMS_PASSES_TD
