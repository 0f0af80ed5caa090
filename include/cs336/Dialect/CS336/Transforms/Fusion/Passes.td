//===- Passes.td - Passes that merge operations into kernels and GEMMs -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_FUSION_PASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeGemmsPass : Pass<"cs336-merge-gemms", "::mlir::ModuleOp"> {
  let summary = "Merge linears with the same input into one linear with a packed weight";
  let description = [{
    Replaces several `cs336.linear` of the same input with one linear and slices of its result. The weights must be
    parameters without other uses. The new linear has a packed parameter that holds the rows of all weights, one weight
    after the other, so steps do not concatenate weights. `cs336.views` keeps the names of the weights, so checkpoints
    do not change. If autocast inserted casts between parameters and linears, one cast of the packed parameter replaces
    them.

    The packed parameter takes the position of the first weight. Its name keeps the common parts of the names and joins
    the parts that differ: `q_proj`, `k_proj` and `v_proj` become `qkv_proj`; `w1` and `w3` become `w13`.

    Run it on composites, before `cs336-decompose` and `cs336-differentiate`, so that the GEMMs of the gradients are
    merged too. Functions share parameters by name. Therefore every function that takes one of the weights must be able
    to merge the same weights in the same order. Otherwise the pass changes none of these functions. Weights stay
    separate if their `cs336.init` differs, because one attribute describes a parameter. They also stay separate if
    their element types or the precisions of their linears differ.

    Remarks: `Merged` for each packed parameter. `NotMerged` is a missed-optimization remark with the reason, for
    example a weight with another use.

    Before:

    ```mlir
    func.func @f(%x: tensor<4x8xf32>,
                 %w1: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "ffn.w1.weight"},
                 %w3: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "ffn.w3.weight"}) {
      %a = cs336.linear %x, %w1 : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
      %b = cs336.linear %x, %w3 : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
    ```

    After:

    ```mlir
    func.func @f(%x: tensor<4x8xf32>,
                 %w: tensor<32x8xf32> {cs336.kind = "parameter", cs336.name = "ffn.w13.weight",
                   cs336.views = [#cs336.view<"ffn.w1.weight", 16>, #cs336.view<"ffn.w3.weight", 16>]}) {
      %ab = cs336.linear %x, %w : tensor<4x8xf32>, tensor<32x8xf32> -> tensor<4x32xf32>
      %a = cs336.slice %ab offsets = [0, 0] : tensor<4x32xf32> -> tensor<4x16xf32>
      %b = cs336.slice %ab offsets = [0, 16] : tensor<4x32xf32> -> tensor<4x16xf32>
    ```

    Counts `num-merged`, linears replaced; `num-packed`, packed linears created.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def FuseEpiloguesPass : Pass<"cs336-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Move additions, biases and ReLUs into the epilogues of GEMMs";
  let description = [{
    Turns an addition or a ReLU that reads a `cs336.matmul` into an operand or an attribute of the matmul. The GEMM
    library then applies it before it stores the result, which saves one kernel.

    | epilogue | pattern | element types |
    |---|---|---|
    | addend | the matmul plus another tensor of its type | float32, float64 |
    | bias | the matmul plus a vector that is broadcast to every row | float32 |
    | ReLU | 0 where the matmul is at most 0 | float32, bf16, f16 |

    **Addend.** Examples are the residual stream, and the gradient of a value that several matmuls read. If both
    operands of the addition are matmuls, the later one adds the result of the earlier one. The addend must be in
    memory: constants and broadcasts are not. The matmul must have no other reader.

    bf16 and f16 are excluded because in these types the program adds the rounded elements of the GEMM, and the rounding
    is part of the program. In float32 and float64 the GEMM may add in another order, so the last digit may differ, as
    it may within a GEMM.

    **ReLU.** A ReLU of the rounded sum equals the rounded ReLU of the sum, so 16-bit types are possible. The matmul
    must have no other readers except comparisons of the form x ≤ 0, which gradients use. With y = relu(x), y ≤ 0
    exactly where x ≤ 0, and y is NaN exactly where x is. The comparisons therefore read the result instead, and move to
    their readers. NaN stays NaN on every device. The CUDA runtime tests whether the library's own ReLU keeps NaN, and
    the CPU runtime does not use the library's.

    A GELU never becomes an epilogue. cuBLASLt's GELU is neither of the two forms of `cs336.gelu`, and the gradient
    reads the operand of the GELU.

    Run it after `cs336-differentiate` and before `cs336-fuse-elementwise`, which groups the remaining operations. A
    second run changes nothing.

    Remarks: `SumFused`, `BiasFused` and `ActivationFused`. `SumKept` and `ActivationKept` are missed-optimization
    remarks with the reason (`--remarks-filter-missed=cs336-fuse-epilogues`).

    Before:

    ```mlir
    %h = cs336.matmul %y, %w {transpose_b} : tensor<4x8x16xf32>, tensor<8x16xf32> -> tensor<4x8x8xf32>
    %r = cs336.add %x, %h : tensor<4x8x8xf32>
    ```

    After:

    ```mlir
    %r = cs336.matmul %y, %w add %x {transpose_b} : tensor<4x8x16xf32>, tensor<8x16xf32> -> tensor<4x8x8xf32>
    ```

    Counts `num-sums`, `num-biases` and `num-activations`, the additions, biases and ReLUs that became epilogues.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def MoveLayoutsPass : Pass<"cs336-move-layouts", "::mlir::func::FuncOp"> {
  let summary = "Move layout operations to the borders of future kernels";
  let description = [{
    Moves slices, reshapes, transposes and other operations that only move elements out of chains of element-wise
    operations. At the border of a kernel they become strides of its loads and stores. Inside a chain they would end the
    kernel.

    - A layout operation moves before the element-wise operation that it reads, towards the loads. The element-wise
      operation must have no other reader, or be a conversion of types, and a kernel must read the result.
    - A conversion moves before a concatenation, so that the layout operations between them follow the concatenation,
      towards the stores.
    - Concatenations of reshaped or transposed concatenations become one concatenation of concatenations: the gradient
      of a packed projection, whose parts are the pairs of rotary embedding.
    - A transpose moves before a slice that takes every second element, or every n-th: the even or the odd elements of
      pairs. A kernel that reads several of these slices then reads slices of one tensor.
    - Equal layout operations and conversions of one value, which result from moves past several readers, become one.
    - A conversion of an operand of an existing group moves into the group if the group then reads fewer bytes. A
      multiplication of an operand by one number moves into the group if nothing else reads its result.

    Run it after `cs336-decompose`, `cs336-differentiate`, `cs336-optimizer` and `cs336-fuse-epilogues`, and directly
    before `cs336-fuse-elementwise`, which groups the remaining chains. It changes functions with one block only. The
    values that the function computes stay the same. A second run changes nothing.

    Before:

    ```mlir
    %c = cs336.cast %x : tensor<4x16xbf16> -> tensor<4x16xf32>
    %r = cs336.reshape %c : tensor<4x16xf32> -> tensor<4x2x8xf32>
    %t = cs336.transpose %r perm = [1, 0, 2] : tensor<4x2x8xf32> -> tensor<2x4x8xf32>
    %y = cs336.exp %t : tensor<2x4x8xf32>
    ```

    After:

    ```mlir
    %r = cs336.reshape %x : tensor<4x16xbf16> -> tensor<4x2x8xbf16>
    %t = cs336.transpose %r perm = [1, 0, 2] : tensor<4x2x8xbf16> -> tensor<2x4x8xbf16>
    %c = cs336.cast %t : tensor<2x4x8xbf16> -> tensor<2x4x8xf32>
    %y = cs336.exp %c : tensor<2x4x8xf32>
    ```

    Counts `num-moved`, layout operations moved; `num-absorbed`, conversions and
    multiplications moved into groups.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def FuseElementwisePass : Pass<"cs336-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Group element-wise operations, row reductions and layout operations into kernels";
  let description = [{
    Moves operations into `cs336.fused`. Each group becomes one kernel, which reads and writes every tensor once.
    `FusibleOpInterface` determines how an operation can be grouped:

    - Element-wise operations of one shape form a group. Each kernel computes the constants, broadcasts and indices that
      it reads again.
    - Reductions over the last axes join them, together with operations that have one element per row. A row is read
      once and kept between a reduction and the operations that need its result. Examples are a norm, forward and
      backward, and a loss with its gradient.
    - A reduction over other axes, or over all, can only end a group, after the element-wise operations before it. An
      example is the gradient of a norm's weight.
    - A concatenation or a pad of computed values can end a group. Examples are the pairs of RoPE and the gradients of
      merged GEMMs.

    First, groups that produce and consume a value are merged. Then groups of one shape that read the same tensor are
    merged, such as RoPE of q and of k. A merge must satisfy all of these conditions:

    - it saves bytes;
    - it creates no cycle;
    - the kernel's values fit into registers;
    - the kernel does at most 128 FLOPs per element, where each operation counts as at least one. A longer kernel would
      be bound by arithmetic.

    A chain of operations of any length becomes a number of kernels that is linear in its length.

    If a group reads at least two slices of one tensor that take every n-th element of its last axis, such as the even
    and the odd elements of pairs, the slices move into the group. The kernel then loads neighbouring elements together.

    An element-wise value that several kernels need is computed again in each of them if this moves fewer bytes than
    storing it and costs at most 2 FLOPs per byte. A reduction is never computed again.

    Run it after `cs336-move-layouts`, and before `convert-cs336-to-exec`. It
    changes functions with one block only. Existing groups are kept. The order of operations may change.

    Remarks: `Fused` for each group, with the bytes before and after. `NotFused` and `KernelEnds` are
    missed-optimization remarks with the reason why two operations are in different kernels.

    Before:

    ```mlir
    %s = cs336.sigmoid %x : tensor<4x8xf32>
    %m = cs336.mul %x, %s : tensor<4x8xf32>
    %y = cs336.mul %m, %z : tensor<4x8xf32>
    ```

    After:

    ```mlir
    %y = cs336.fused(%x, %z) {
    ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>):
      %s = cs336.sigmoid %a : tensor<4x8xf32>
      %m = cs336.mul %a, %s : tensor<4x8xf32>
      %g = cs336.mul %m, %b : tensor<4x8xf32>
      cs336.yield %g : tensor<4x8xf32>
    } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```

    Counts `num-groups`, groups created; `num-fused`, operations moved into groups; `num-recomputed`, operations
    computed again instead of stored; `bytes-saved`, bytes that the unfused operations would read or write in addition.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def HoistInvariantsPass : Pass<"cs336-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "Move tables that depend on no argument into @prepare";
  let description = [{
    Replaces an invariant table with an argument of kind "derived", and makes a function of mode `prepare` compute the
    table once. An invariant table is a value that depends on no argument and costs at least `min-flops` per element,
    such as the sines and cosines of RoPE. The argument is called `invariant.<hash of its structure>`. If the module has
    no function of mode `prepare`, the pass creates one. Equal tables of several functions become one argument.

    The pass stores the value before any broadcast, reshape or other layout operation. It does not hoist integers of 32
    or 64 bits. A variable can hold any integer, so the range of indices that are read from it would be unknown.

    Run it after the passes that create such tables (`cs336-decompose`, `cs336-differentiate`) and before
    `convert-cs336-to-exec`. It does not change functions without a mode.

    Remarks: `Hoisted` for each table. `NotHoisted` is a missed-optimization remark: the value is too cheap, or the
    function has several blocks.

    Before:

    ```mlir
    func.func @forward(%x: tensor<4x8xf32> …) … {
      %t = cs336.iota axis = 0 : tensor<4x8xf64>
      …
      %cos = cs336.cos %angle : tensor<4x8xf64>
      %table = cs336.cast %cos : tensor<4x8xf64> -> tensor<4x8xf32>
      %y = cs336.mul %x, %table : tensor<4x8xf32>
    ```

    After:

    ```mlir
    func.func @forward(%x: tensor<4x8xf32> …, %table: tensor<4x8xf32> {cs336.kind = "derived", cs336.name = "invariant.0b1c…"}) … {
      %y = cs336.mul %x, %table : tensor<4x8xf32>
    }
    func.func @prepare() -> (tensor<4x8xf32> {cs336.kind = "derived", cs336.name = "invariant.0b1c…"})
        attributes {cs336.mode = #cs336.mode<prepare>} {
      …
    ```

    Counts `num-hoisted`, values replaced with a derived argument; `num-tables`, distinct tables that `prepare`
    computes.
  }];
  let options = [Option<"minFlops", "min-flops", "int64_t", "4",
                        "Fewest FLOPs per element for which a table is stored (default: 4)">];
  let dependentDialects = ["::cs336::CS336Dialect", "::mlir::func::FuncDialect"];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_FUSION_PASSES_TD
