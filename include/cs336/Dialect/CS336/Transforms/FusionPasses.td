//===- FusionPasses.td - What shares a kernel or a product -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_FUSIONPASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_FUSIONPASSES_TD

include "mlir/Pass/PassBase.td"

def FlashAttentionPass : Pass<"cs336-flash-attention", "::mlir::func::FuncOp"> {
  let summary = "Scores, scale, mask, softmax and values become one attention";
  let description = [{
    Finds, by structure, softmax(scale·QKᵀ, masked)·V written as products and primitives, and replaces it by
    `cs336.attention`, which stores no scores. Scales are products with and quotients by numbers, none, or several; masks
    are selections of −∞ or additions of 0 and −∞. Any leading axes will do: none, batches, batches and heads, groups
    of heads. Operands and result are brought to [batch, positions, heads, head_dim] by layout operations that
    compose with a head split and merge, so that these become reshapes; keys and values that are repeated for several
    query heads are read once.

    The attention is causal only if the mask provably is: what it compares are computed as linear functions of
    query i and key j, or it is a table, and it shows exactly the keys j ≤ i. A mask that shows all keys is none.

    Contract: before `cs336-differentiate`, so that the gradient is the fused one, and before `cs336-autocast`, whose casts of
    scores would stand between; before or after `cs336-fuse-softmax`. Left alone, with a remark at what is in the way:
    scores that something else uses too (`UsedElsewhere`), what is not quite a softmax over keys (`NoSoftmax`), a mask that
    depends on data (`MaskDependsOnData`), shows other keys (`MaskNotCausal`) or hides with a finite number
    (`HiddenNotInfinite`), a scale that is not positive (`ScaleNotPositive`), another pointwise operation
    (`NotScaleOrMask`) or one that is not pointwise (`NotPointwise`) between scores and softmax, anything
    between softmax and values (`BetweenSoftmaxAndValues`), a softmax of something else (`NoScores`), probabilities that
    multiply from the wrong side (`Transposed`), and a head_dim that kernels have no blocks for: not a multiple of 8, above
    256, or not that of the values (`HeadDim`).

    Before:

    ```mlir
    %s = cs336.matmul %q, %k {transpose_b} : tensor<2x4x9x16xf32>, tensor<2x4x9x16xf32> -> tensor<2x4x9x9xf32>
    %c = cs336.constant dense<2.5e-01> : tensor<2x4x9x9xf32>
    %x = cs336.mul %s, %c : tensor<2x4x9x9xf32>
    %m0 = cs336.reduce max %x axes = [3] : tensor<2x4x9x9xf32> -> tensor<2x4x9xf32>
    %m = cs336.broadcast %m0 dims = [0, 1, 2] : tensor<2x4x9xf32> -> tensor<2x4x9x9xf32>
    %d = cs336.sub %x, %m : tensor<2x4x9x9xf32>
    %e = cs336.exp %d : tensor<2x4x9x9xf32>
    %z0 = cs336.reduce sum %e axes = [3] : tensor<2x4x9x9xf32> -> tensor<2x4x9xf32>
    %z = cs336.broadcast %z0 dims = [0, 1, 2] : tensor<2x4x9xf32> -> tensor<2x4x9x9xf32>
    %p = cs336.div %e, %z : tensor<2x4x9x9xf32>
    %o = cs336.matmul %p, %v : tensor<2x4x9x9xf32>, tensor<2x4x9x16xf32> -> tensor<2x4x9x16xf32>
    ```

    After:

    ```mlir
    %q1 = cs336.transpose %q perm = [0, 2, 1, 3] : tensor<2x4x9x16xf32> -> tensor<2x9x4x16xf32>
    %k1 = cs336.transpose %k perm = [0, 2, 1, 3] : tensor<2x4x9x16xf32> -> tensor<2x9x4x16xf32>
    %v1 = cs336.transpose %v perm = [0, 2, 1, 3] : tensor<2x4x9x16xf32> -> tensor<2x9x4x16xf32>
    %o1, %lse = cs336.attention %q1, %k1, %v1 {scale = 2.5e-01 : f64}
        : tensor<2x9x4x16xf32>, tensor<2x9x4x16xf32> -> tensor<2x4x9xf32>
    %o = cs336.transpose %o1 perm = [0, 2, 1, 3] : tensor<2x9x4x16xf32> -> tensor<2x4x9x16xf32>
    ```

    Counts `num-fused`, attentions fused; `num-causal`, those of them that are causal; `num-refused`, candidates left alone.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def MergeGemmsPass : Pass<"cs336-merge-gemms", "::mlir::ModuleOp"> {
  let summary = "Linears that share an input become one linear with a packed weight";
  let description = [{
    Several `cs336.linear` of one input, whose weights are parameters that nothing else uses, become one linear with a
    parameter that holds the weights' rows one after the other, and slices of its result. The packed parameter has
    `cs336.views` with the names, so checkpoints do not change; nothing is concatenated inside a step. Where
    autocast stands between parameter and linear, one cast of the packed parameter replaces the casts.

    The packed parameter takes the place of the first. Its name keeps what the names have in common and joins what
    they have not: `q_proj`, `k_proj`, `v_proj` become `qkv_proj`; `w1` and `w3` become `w13`.

    Contract: on composites, before `cs336-decompose` and `cs336-differentiate`, so that the gradients merge too.
    Every function of the module that takes one of the weights must be able to merge the same weights in the same order,
    since functions share parameters by name; otherwise none is changed, with a missed-optimization remark that says why.
    Weights whose `cs336.init` differ stay apart, as one attribute describes a parameter.

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

    Counts `num-merged`, linears replaced; `num-packed`, packed linears made.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def FuseSoftmaxPass : Pass<"cs336-fuse-softmax", "::mlir::func::FuncOp"> {
  let summary = "Softmaxes written as primitives become one operation, with the scale and the mask before them";
  let description = [{
    Finds, by structure, y = e/Σe with e = exp(z − max z), or e·(1/Σe), where the maximum and the sum are over the last
    axis, and makes it `cs336.softmax`, whose adjoint is `cs336.softmax_backward`. Between scores and softmax it takes in

    - scales: x·c, c·x, x/c with a splat constant c, any number of them; after the mask only positive ones, which
      leave −∞ as it is; and x + 0, a mask that hides nothing;
    - one mask: select(m, x, −∞), select(m, −∞, x), or x + c where c is 0 or −∞ everywhere (the same for finite x). Leading
      axes that the mask is repeated along are dropped.

    In a program that is differentiated already, what reverse mode made of a quotient e/Σe, with a = dy/Σe the chain
    dz = e·(a − Σ a·y), becomes `cs336.softmax_backward` in the same way. A gradient of the maximum, which is zero but for
    rounding, is dropped.

    What is not quite a softmax stays as it is, with a missed-optimization remark that says why: no maximum, another
    axis, the maximum or sum of something else, maximum, exponentials or sum used elsewhere (as by the gradient of
    e·(1/Σe)). Scales and masks that cannot be taken in stay before the softmax, with a remark.

    The operation computes bf16 and f16 in float32 and rounds once, where the primitives round each. Its kernels for GPUs read and
    write each element once in rows of up to some 64 KB of operands, which registers hold; wider ones are read in three passes.

    Contract: before `cs336-autocast`, whose policy for a softmax is float32, and before `cs336-differentiate`, so that the
    gradient is that of the operation. A second run changes nothing.

    Before:

    ```mlir
    %s = cs336.mul %x, %eighth : tensor<2x4x8xf32>
    %z = cs336.select %visible, %s, %minus_infinity : tensor<2x4x8xf32>
    %m = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
    %mb = cs336.broadcast %m dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
    %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
    %e = cs336.exp %d : tensor<2x4x8xf32>
    %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
    %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
    %y = cs336.div %e, %tb : tensor<2x4x8xf32>
    ```

    After:

    ```mlir
    %y = cs336.softmax %x mask %mask {scale = 1.250000e-01 : f64} : tensor<2x4x8xf32>, tensor<4x8xi1>
    ```

    Counts `num-fused`, softmaxes made; `num-gradients`, gradients of softmaxes made.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def FuseEpiloguesPass : Pass<"cs336-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Products add what their result would be added to, and compute its ReLU";
  let description = [{
    A sum of a product and another tensor of its type becomes the product's addend: the residual stream, and gradients of
    values that several products read. The library reads the addend where it writes the result; a kernel that reads both
    and writes the sum is saved. Of two products, the later one adds the earlier one's result.

    Only in float32 and float64: the sum of a product in bf16 or f16 is that of its rounded elements, and the rounding is
    a part of the program. The product must have no other reader, and the addend must be in memory: constants and
    broadcasts are not, but for a vector that is broadcast to every row: in float32 it becomes the product's bias. What a product
    adds, it adds in an order of its own: rounding may differ in the last place, as it does within the product.

    A ReLU of a product becomes the product's own, in float32, bf16 and f16: of the rounded sum it is the rounded one of the sum.
    The product may have no other reader but comparisons with 0, which gradients make: y = relu(x) is at most 0 where x is, and
    NaN where x is, so they read the result, and come where they are read. Every library keeps a NaN here; where its own ReLU may
    not, that is tried (CUDA) or another one is taken (the CPU).

    No GELU becomes an epilogue: cuBLASLt's is a third one beside the two that `cs336.gelu` has, and a gradient reads its operand.
    A missed-optimization remark (`--remarks-filter-missed=cs336-fuse-epilogues`) says why a sum or a ReLU is kept.

    Contract: after `cs336-differentiate`; before `cs336-fuse-elementwise`, which puts what is left into groups.
    A second run changes nothing.

    Before:

    ```mlir
    %h = cs336.matmul %y, %w {transpose_b} : tensor<4x8x16xf32>, tensor<8x16xf32> -> tensor<4x8x8xf32>
    %r = cs336.add %x, %h : tensor<4x8x8xf32>
    ```

    After:

    ```mlir
    %r = cs336.matmul %y, %w add %x {transpose_b} : tensor<4x8x16xf32>, tensor<8x16xf32> -> tensor<4x8x8xf32>
    ```

    Counts `num-sums`, sums that products take, `num-biases` and `num-activations`.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def FuseElementwisePass : Pass<"cs336-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Pointwise operations, row reductions and layout changes become kernels";
  let description = [{
    Groups operations into `cs336.fused`, each of which becomes one kernel that reads and writes every tensor once. What
    it may group, operations say themselves (`FusibleOpInterface`):

    - pointwise operations of one shape, with the constants, broadcasts and indices that they read, which each kernel
      computes anew;
    - with reductions over the last axes, and what there is one of a row: a row is read once and kept between a
      reduction and what needs its result (a norm forward and backward, a loss with its gradient);
    - at the end, reductions over other axes or all, with the pointwise operations before them (a weight's gradient):
      nothing else follows in the same kernel;
    - at the end, a concatenation or a pad of what was computed (rotary embedding's pairs, gradients of merged products).

    Groups grow along values, then over groups of one shape that read the same tensor (rotary embedding of q and of k), as long
    as bytes are saved, no cycle arises, a kernel's values fit into registers, and it takes at most 128 FLOPs per element (an
    operation counts as at least one): beyond that it is bound by arithmetic, and a new group begins. A chain of any length
    becomes a number of kernels that is linear in it. A pointwise value that several kernels need is
    computed again where that moves fewer bytes than storing it and costs at most 2 FLOPs a byte; a reduction never is.
    Layout operations move to kernels' borders, where they are strides: past pointwise operations towards what is loaded, and
    past a concatenation towards what is stored.

    Contract: functions of one block, after `cs336-decompose`, `cs336-differentiate` and `cs336-optimizer`, before
    `convert-cs336-to-exec`. Existing groups stay as they are. Operations may stand in another order afterwards.

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

    Counts `num-groups`, groups made; `num-fused`, operations put into groups; `num-recomputed`, operations computed again
    instead of stored; `num-layouts`, layout operations moved; `bytes-saved`, those that operations standing alone would
    have read or written.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def HoistInvariantsPass : Pass<"cs336-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "Tables that depend on no input are computed once, by @prepare";
  let description = [{
    A value that depends on no argument and costs at least `min-flops` an element (rotary embedding's sines and cosines)
    becomes an argument of kind "derived", called `invariant.<hash of its structure>`, which a function of mode `prepare`
    returns; that function is made if the module has none. Equal tables of several functions share one. What is
    only repeated, reshaped or moved afterwards is not stored in that form. Integers of 32 and 64 bits stay: a variable can
    hold any, and indices among them would lose their range.

    Contract: after the passes that make such tables (`cs336-decompose`, `cs336-differentiate`), before
    `convert-cs336-to-exec`. Functions without a mode keep their signature and are left alone.

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

    Counts `num-hoisted`, values replaced by a derived argument; `num-tables`, distinct tables that prepare computes.
  }];
  let options = [Option<"minFlops", "min-flops", "int64_t", "4",
                        "FLOPs an element from which storing a table is worth its bytes">];
  let dependentDialects = ["::cs336::CS336Dialect", "::mlir::func::FuncDialect"];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_FUSIONPASSES_TD
