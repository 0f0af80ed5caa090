//===- Passes.td - Passes that recompute activations to save memory -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_MEMORY_PASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckpointPass : Pass<"cs336-checkpoint", "::mlir::func::FuncOp"> {
  let summary = "Drop the activations of repeated blocks and compute them again in the backward pass";
  let description = [{
    Makes the backward pass compute the activations of repeated blocks again, instead of keeping them (Chen et al.,
    2016). It changes functions that return gradients.

    1. The pass cuts the forward pass at every point where all later operations read only one of the earlier results.
    2. The consecutive sections between cuts that are equal, operation by operation, are the blocks, such as the layers
       of a Transformer. Their names do not matter.
    3. For every group of `every` blocks, only the input is kept. Copies of the forward operations compute the values
       that the backward pass reads, right before the first of these reads. The copies start at a `cs336.barrier`, so
       that no pass merges them with the originals.

    Some values are kept and not computed again: those that depend on one argument alone (casts of weights, tables),
    those that the function returns, and those that `CostOpInterface` marks as computed once (collectives, updates). The
    copies compute the same values as the originals, so the gradients are bitwise equal.

    Run it after `cs336-differentiate` and before `cs336-optimizer`. A second run changes nothing.

    Remarks: `Recomputed` for each group of blocks, with the bytes dropped and the FLOPs added. The missed-optimization
    remarks are `NoBlocks`, `NothingDropped`, `NoGradients` and `SeveralBlocks`.

    Before:

    ```mlir
    %h = cs336.matmul %x, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %y = cs336.tanh %h : tensor<4x8xf32>
    …
    %square = cs336.mul %y, %y : tensor<4x8xf32>
    ```

    After:

    ```mlir
    %h = cs336.matmul %x, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %y = cs336.tanh %h : tensor<4x8xf32>
    …
    %x2 = cs336.barrier %x : tensor<4x8xf32>
    %h2 = cs336.matmul %x2, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %y2 = cs336.tanh %h2 : tensor<4x8xf32>
    %square = cs336.mul %y2, %y2 : tensor<4x8xf32>
    ```

    Counts `num-blocks`, blocks found; `num-dropped`, activations dropped; `num-recomputed`, operations computed again.
  }];
  let options = [Option<"every", "every", "unsigned", "1",
                        "Number of consecutive blocks per kept input (default: 1); 0 keeps all activations">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def RecomputePointwisePass : Pass<"cs336-recompute-pointwise", "::mlir::func::FuncOp"> {
  let summary = "Drop element-wise results and compute them again in the backward pass from kept values";
  let description = [{
    Makes the backward pass compute element-wise results of the forward pass again, instead of keeping them. It changes
    functions that return gradients. A result is dropped if the backward pass reads it and all its operands are
    available there:

    - inputs and weights are always available;
    - tensors that the backward pass reads for other reasons are available too;
    - results that can themselves be computed again, for example by casts, are available too.

    For SwiGLU's `x`, `σ(x)`, `silu(x)` and `silu(x)·g`, only `x` and `g` are kept. For a softmax, only the exponentials
    and their sums are kept. This is the cheapest form of selective activation recomputation (Korthikanti et al., 2022):
    it repeats only element-wise operations, never a matmul or a reduction.

    A copy of the operation computes the value right before its first read. Copies read a `cs336.barrier` of the kept
    values, so that no pass merges them with the originals. Views and broadcasts in between are copied too. The
    gradients are bitwise equal.

    The pass keeps results smaller than `min-bytes`, because a launch costs more than they save. It also keeps results
    of the function, values that depend on arguments alone (casts of weights), and values that `CostOpInterface` marks
    as computed once. It keeps all results if the largest live set would not shrink by at least `min-saving`, for
    example because the largest live set consists of gradients.

    Run it after `cs336-differentiate` and before `cs336-optimizer`. A second run changes nothing, because only the
    backward pass reads the copies.

    Remarks: `Recomputed`, with the bytes dropped. The missed-optimization remarks are `NothingDropped`, `TooLittle`,
    `NoGradients` and `SeveralBlocks`.

    Before:

    ```mlir
    %s = cs336.sigmoid %x : tensor<4x8xf32>
    %y = cs336.mul %x, %s : tensor<4x8xf32>
    …
    %dx = cs336.mul %dy, %s : tensor<4x8xf32>
    %ds = cs336.mul %dy, %x : tensor<4x8xf32>
    ```

    After, if the function keeps `%x`:

    ```mlir
    %s = cs336.sigmoid %x : tensor<4x8xf32>
    %y = cs336.mul %x, %s : tensor<4x8xf32>
    …
    %x2 = cs336.barrier %x : tensor<4x8xf32>
    %s2 = cs336.sigmoid %x2 : tensor<4x8xf32>
    %dx = cs336.mul %dy, %s2 : tensor<4x8xf32>
    %ds = cs336.mul %dy, %x : tensor<4x8xf32>
    ```

    Counts `num-dropped`, results dropped.
  }];
  let options = [Option<"minBytes", "min-bytes", "uint64_t", "65536",
                        "Size of the smallest result to drop, in bytes (default: 65536)">,
                 Option<"minSaving", "min-saving", "double", "0.0",
                        "Smallest share, from 0 to 1, by which the largest live set must shrink (default: 0)">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def SelectiveCheckpointPass : Pass<"cs336-selective-checkpoint", "::mlir::func::FuncOp"> {
  let summary = "Drop activations of repeated blocks, in increasing order of recomputation time per byte";
  let description = [{
    Makes the backward pass compute a chosen share of the activations of repeated blocks again, instead of keeping them
    (selective activation recomputation, Korthikanti et al., 2022). `cs336-checkpoint` drops all of them, and finds the
    blocks in the same way.

    The operations of a block form a ladder. Each rung includes the rungs below it:

    1. element-wise and layout operations, such as norms, rotary embeddings, gates and casts;
    2. the GEMMs, one per rung, in increasing order of FLOPs per byte of the result;
    3. everything else except attention: row reductions, whose results are small;
    4. attention, which takes the most time per byte.

    A block on a rung keeps the results of all operations above the rung. A step takes one block up by one rung. All
    blocks take the first rung, from the first block to the last, then all take the second one, and so on. `share` is
    the part of all steps that the pass takes, rounded up to a whole step, unless it is less than a thousandth of a step
    above one. With share 1 each block keeps only its input.

    A larger share never recomputes less. The tools search the smallest share whose memory plan fits a budget
    (`--memory-budget`). Kept values, copies and barriers are as in `cs336-checkpoint`, so the gradients are bitwise
    equal.

    Run it after `cs336-differentiate` and before `cs336-optimizer`. A second run with the same share changes nothing.

    Remarks: `Recomputed` for each block, with its rung, the bytes dropped and the FLOPs added. The missed-optimization
    remarks are `NoBlocks`, `NothingDropped`, `NoGradients` and `SeveralBlocks`.

    Before:

    ```mlir
    %h = cs336.matmul %x, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %y = cs336.tanh %h : tensor<4x8xf32>
    …
    %square = cs336.mul %y, %y : tensor<4x8xf32>
    ```

    After, on the first rung:

    ```mlir
    %h = cs336.matmul %x, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %y = cs336.tanh %h : tensor<4x8xf32>
    …
    %h2 = cs336.barrier %h : tensor<4x8xf32>
    %y2 = cs336.tanh %h2 : tensor<4x8xf32>
    %square = cs336.mul %y2, %y2 : tensor<4x8xf32>
    ```

    Counts `num-blocks`, blocks found; `num-dropped`, activations dropped; `num-recomputed`, operations computed again.
  }];
  let options = [Option<"share", "share", "double", "0.5",
                        "Part of the ladder's steps to take, from 0 (keep all activations) to 1 (default: 0.5)">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_MEMORY_PASSES_TD
