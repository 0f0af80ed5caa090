//===- Passes.td - Passes over the cs336 dialect -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD

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

def AutocastPass : Pass<"cs336-autocast", "::mlir::func::FuncOp"> {
  let summary = "Mixed precision: casts where each operation's policy asks for them";
  let description = [{
    As PyTorch's CUDA autocast. Every operation names its policy through `AutocastOpInterface`: matrix products run in
    the low type; exponentials, powers, sums and losses in float32; operations with several inputs in the widest of
    them; the rest in the type that they get. Types of results follow, up to the function's results. Parameters stay
    float32, and a value is cast to a type once, however many operations read it. With `dtype=tf32` no type changes:
    float32 products get `precision = tf32`.

    Float64 is left alone. A splat constant behaves as a Python number: it takes no part in choosing the widest type,
    and where the low type cannot hold it exactly the operation computes in float32 and rounds its result.
    Operations that have neither a policy nor a fusion kind keep their types: their operands are cast back.

    Contract: before `cs336-decompose` (the policy is about PyTorch's operations: x − max inside a cross entropy must not
    round to bf16) and before `cs336-differentiate`. Refuses a function that already returns gradients.

    Before:

    ```mlir
    %h = cs336.linear %x, %w : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
    %e = cs336.exp %h : tensor<4x16xf32>
    ```

    After `--cs336-autocast=dtype=bf16`:

    ```mlir
    %xl = cs336.cast %x : tensor<4x8xf32> -> tensor<4x8xbf16>
    %wl = cs336.cast %w : tensor<16x8xf32> -> tensor<16x8xbf16>
    %h = cs336.linear %xl, %wl : tensor<4x8xbf16>, tensor<16x8xbf16> -> tensor<4x16xbf16>
    %hw = cs336.cast %h : tensor<4x16xbf16> -> tensor<4x16xf32>
    %e = cs336.exp %hw : tensor<4x16xf32>
    ```

    Counts `num-casts`, casts inserted; `num-tf32`, operations allowed to use tf32.
  }];
  let options = [Option<"dtype", "dtype", "::cs336::AutocastType", "::cs336::AutocastType::BF16",
                        "The low type: bf16, fp16 or tf32", [{::llvm::cl::values(
    clEnumValN(::cs336::AutocastType::BF16, "bf16", "bfloat16: float32's range, 8 bits of significand"),
    clEnumValN(::cs336::AutocastType::FP16, "fp16", "float16: 11 bits of significand, needs loss scaling"),
    clEnumValN(::cs336::AutocastType::TF32, "tf32", "float32 storage, products round their inputs to 11 bits"))}]>];
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

def DecomposePass : Pass<"cs336-decompose"> {
  let summary = "Composite operations become primitives";
  let description = [{
    Replaces every operation that implements `DecomposableOpInterface` by what it says of itself, until none is left:
    `linear`, `silu`, `relu`, `gelu`, `rms_norm`, `layer_norm`, `rope`, `cross_entropy`. New operations take the location of
    the composite.

    Contract: after `cs336-autocast` and `cs336-merge-gemms`, which are about composites.

    Before:

    ```mlir
    %y = cs336.silu %x : tensor<4x8xf32>
    ```

    After:

    ```mlir
    %s = cs336.sigmoid %x : tensor<4x8xf32>
    %y = cs336.mul %x, %s : tensor<4x8xf32>
    ```

    Counts `num-decomposed`, composites replaced.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def FuseSoftmaxPass : Pass<"cs336-fuse-softmax", "::mlir::func::FuncOp"> {
  let summary = "Softmaxes written as primitives become one operation, with the scale and the mask before them";
  let description = [{
    Finds, by structure, y = e/Σe with e = exp(z − max z), or e·(1/Σe), where the maximum and the sum are over the last
    axis, and makes it `cs336.softmax`, whose adjoint is `cs336.softmax_backward`. Between scores and softmax it takes in

    - scales: x·c, c·x, x/c with a splat constant c, any number of them; after the mask only positive ones, which
      leave −∞ as it is;
    - one mask: select(m, x, −∞), select(m, −∞, x), or x + c where c is 0 or −∞ everywhere (the same for finite x). Leading
      axes that the mask is repeated along are dropped.

    In a program that is differentiated already, what reverse mode made of these primitives, with a = dy/Σe the chain
    dz = e·(a − Σ a·y), becomes `cs336.softmax_backward` in the same way. A gradient of the maximum, which is zero but for
    rounding, is dropped.

    What is not quite a softmax stays as it is, with a missed-optimization remark that says why: no maximum, another
    axis, the maximum or sum of something else, maximum, exponentials or sum used elsewhere. Scales and masks that
    cannot be taken in stay before the softmax, with a remark.

    The operation computes bf16 and f16 in float32 and rounds once, where the primitives round each.

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

def ScaleLossPass : Pass<"cs336-scale-loss", "::mlir::func::FuncOp"> {
  let summary = "Dynamic loss scaling: the scale becomes state of a training step";
  let description = [{
    Gradients below 6e-8 are zero in float16. Functions of mode `train` get the state `loss_scale` (f32), from which
    `--cs336-differentiate` starts in place of 1, so that all gradients are those of loss·scale; `--cs336-optimizer` undoes the
    scale, skips the step where a gradient is infinite or NaN, and moves the scale. How it moves is said by the function's
    `#cs336.loss_scaling`; options given to the pass take precedence over its fields. The loss that the function returns is
    not scaled.

    Contract: before `cs336-differentiate`. Refuses a function that already returns gradients. A function that has the
    state already is left alone, as are other modes.

    Before:

    ```mlir
    func.func @train(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}) -> … attributes {cs336.mode = #cs336.mode<train>} {
    ```

    After:

    ```mlir
    func.func @train(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"},
                     %scale: tensor<f32> {cs336.kind = "state", cs336.name = "loss_scale", cs336.init = #cs336.init<constant value = 6.553600e+04>})
        -> … attributes {cs336.mode = #cs336.mode<train>, cs336.loss_scaling = #cs336.loss_scaling<>} {
    ```

    Counts `num-scaled`, functions whose loss is scaled.
  }];
  let options = [
    Option<"init", "init", "double", "65536.0", "The first scale">,
    Option<"growth", "growth", "double", "2.0", "Factor of the scale after `interval` good steps">,
    Option<"backoff", "backoff", "double", "0.5", "Factor of the scale after a skipped step">,
    Option<"interval", "interval", "int64_t", "2000", "Good steps after which the scale grows">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def DifferentiatePass : Pass<"cs336-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Reverse mode: the gradient of the loss for every parameter";
  let description = [{
    In functions of mode `forward_backward` and `train` that return no gradients yet, walks from the result named
    "loss" back to the parameters. Each operation builds its own adjoint (`DifferentiableOpInterface`); a composite
    that cannot is decomposed first. Uses of a value add up, in the order in which the walk meets them. The function
    returns one more result a parameter, of kind "gradient", under the parameter's name and with its views.

    With the state `loss_scale` (`--cs336-scale-loss`), gradients are those of loss·scale.

    Paths through integers and predicates have no gradient. A parameter that the loss does not depend on
    gets zeros, with a remark. New operations stand at the function's end, at the location of what they are
    the adjoint of, wrapped as `loc("backward"(…))`; those that turn out not to be used are erased. Time is linear in
    the number of operations.

    Contract: the function has one block and a result "loss", a floating-point tensor of rank 0. An operation without
    an adjoint between a parameter and the loss is an error at its location.

    Before:

    ```mlir
    func.func @f(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"})
        -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
      %y = cs336.mul %w, %w : tensor<f32>
      return %y : tensor<f32>
    }
    ```

    After:

    ```mlir
    func.func @f(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"})
        -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"},
            tensor<f32> {cs336.kind = "gradient", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
      %y = cs336.mul %w, %w : tensor<f32>
      %one = cs336.constant dense<1.000000e+00> : tensor<f32>
      %a = cs336.mul %one, %w : tensor<f32>
      %b = cs336.mul %one, %w : tensor<f32>
      %dw = cs336.add %a, %b : tensor<f32>
      return %y, %dw : tensor<f32>, tensor<f32>
    }
    ```

    Counts `num-adjoints`, adjoints built; `num-gradients`, gradients returned; `num-erased`, backward operations erased
    because unused.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def CheckpointPass : Pass<"cs336-checkpoint", "::mlir::func::FuncOp"> {
  let summary = "Drops activations of blocks after the forward pass, and computes them again before the backward pass";
  let description = [{
    In functions that return gradients, finds the blocks that repeat: the forward pass is cut where a single value carries
    on what was computed before, and the stretches between two cuts that are equal, operation by operation, and follow
    each other are its blocks, whatever they are called (a Transformer's layers). Of `every` blocks together only the
    input is kept. What the backward pass reads of the rest is computed again, right before it is read first, by copies
    of the forward operations that start at a `cs336.barrier`, so that no pass merges them with the originals.

    Not computed again, but kept: what depends on one argument alone (casts of weights, tables), what the function
    returns, and what `CostOpInterface` says must happen once (collectives, updates). Gradients are the same to the bit:
    copies compute what the originals did.

    Each group of blocks has a remark with the bytes that are dropped and the FLOPs that are computed again. A function
    without blocks has a missed-optimization remark. A second run changes nothing.

    Contract: after `cs336-differentiate`, before `cs336-optimizer`. `every=0` does nothing.

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
  let options = [Option<"every", "every", "unsigned", "1", "Blocks of which only the first one's input is kept; 0 keeps all">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def RecomputePointwisePass : Pass<"cs336-recompute-pointwise", "::mlir::func::FuncOp"> {
  let summary = "Drops pointwise results after the forward pass where what they were computed from is kept anyway";
  let description = [{
    In functions that return gradients: a tensor that the forward pass computes element by element and the backward pass
    reads again need not be kept if all its operands are, as inputs and weights always are, and as those are that
    the backward pass reads itself; or if these can be computed again in turn, through casts for example. It is computed
    again by a copy of its operation, right before it is read first. So
    of SwiGLU's `x`, `σ(x)`, `silu(x)` and `silu(x)·g` only `x` and `g` are kept, and of softmax only the exponentials and
    their sums. This is selective activation recomputation (Korthikanti et al., 2022) at its cheapest: no product, no
    reduction and nothing but pointwise operations is repeated.

    Copies read a `cs336.barrier` of what is kept, so that no pass merges them with the originals; views and broadcasts
    between are copied with them. Gradients are the same to the bit.

    Kept are results below `min-bytes` (a launch costs more than they are worth), what the function returns, what depends on
    arguments alone (casts of weights), and what `CostOpInterface` says must happen once. A function with something to drop has a
    remark with the bytes. A second run changes nothing: what is computed again is read by the backward pass alone.

    Contract: after `cs336-differentiate`, before `cs336-optimizer`.

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
  let options = [Option<"minBytes", "min-bytes", "uint64_t", "65536", "Smallest result that is worth a launch">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def OptimizerPass : Pass<"cs336-optimizer", "::mlir::func::FuncOp"> {
  let summary = "Gradients become the update of parameters and optimizer state";
  let description = [{
    In functions of mode `train`, replaces each gradient result by the new value of its parameter, and adds AdamW's
    state as arguments and results: `adamw.step`, the number of updates made before this one (i64, from zero), and
    `adamw.m.<parameter>`, `adamw.v.<parameter>` in float32 (float64 for float64 parameters). What to do is said by the function's
    `#cs336.optimizer`; options given to the pass take precedence over its fields.

    With t = step + 1, the scalars 1 − β₁ᵗ, 1 − β₂ᵗ and the learning rate are computed in float64 and cast to the type of m and v
    last (float32's 1 − β₂ᵗ would be off by 1e-5). The learning rate follows CS336's `get_lr_cosine_schedule` at the
    zero-based iteration it = step: it·lr/warmup for it < warmup; min + ½(1 + cos(π(it − warmup)/(cosine − warmup)))(lr − min) up to
    it = cosine; min after. So the first step of a warm-up has learning rate zero. Without `cosine_steps` lr stays after warm-up.

    With `max_norm` M > 0 all gradients are multiplied by min(1, M/(‖g‖₂ + 1e-6)), ‖g‖₂ over all of them together, and
    ‖g‖₂ is returned as the output "grad_norm".

    With the state `loss_scale` (`--cs336-scale-loss`) gradients are multiplied by 1/scale, before their norm is taken. Where any
    element of them is infinite or NaN the step is skipped: parameters and AdamW's state keep their values, `adamw.step` does
    not advance, and the scale backs off. Otherwise `growth_tracker` (i32, state) counts up to the interval after which the
    scale grows. No host takes part. Elements are compared one by one: finite gradients whose sum overflows are no reason to skip.

    A gradient that was widened last (from the bf16 or f16 of the product that made it) is read as it was before.

    New operations carry the location `loc("optimizer"(loc("<parameter>")))`.

    Contract: after `cs336-differentiate`. A train function without gradients is an error; one that has the state already
    is left alone.

    Before:

    ```mlir
    func.func @train(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}) ->
        (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<4xf32> {cs336.kind = "gradient", cs336.name = "w"})
        attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 1.0e-03>} {
      …
      return %loss, %dw : tensor<f32>, tensor<4xf32>
    ```

    After:

    ```mlir
    func.func @train(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"},
                     %step: tensor<i64> {cs336.kind = "state", cs336.name = "adamw.step", cs336.init = #cs336.init<zeros>},
                     %m: tensor<4xf32> {cs336.kind = "state", cs336.name = "adamw.m.w", cs336.init = #cs336.init<zeros>},
                     %v: tensor<4xf32> {cs336.kind = "state", cs336.name = "adamw.v.w", cs336.init = #cs336.init<zeros>}) ->
        (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"},
         tensor<i64> {cs336.kind = "state", cs336.name = "adamw.step"}, tensor<4xf32> {cs336.kind = "state", cs336.name = "adamw.m.w"},
         tensor<4xf32> {cs336.kind = "state", cs336.name = "adamw.v.w"}) … {
      …
      %w1, %m1, %v1 = cs336.adamw %w, %dw, %m, %v lr = %lr, correction1 = %c1, correction2 = %c2, scale = %s, apply = %yes …
      return %loss, %w1, %next, %m1, %v1 : …
    ```

    Counts `num-updates`, parameters updated.
  }];
  let options = [
    Option<"kind", "kind", "::cs336::OptimizerKind", "::cs336::OptimizerKind::AdamW", "The optimizer",
           [{::llvm::cl::values(clEnumValN(::cs336::OptimizerKind::AdamW, "adamw", "Adam with decoupled weight decay"))}]>,
    Option<"form", "form", "::cs336::AdamWForm", "::cs336::AdamWForm::PyTorch", "Which published form of AdamW",
           [{::llvm::cl::values(
      clEnumValN(::cs336::AdamWForm::PyTorch, "pytorch", "torch.optim.AdamW: decay first, epsilon beside the corrected root"),
      clEnumValN(::cs336::AdamWForm::CS336Spring2025, "cs336_2025", "corrected learning rate, decay after the update"),
      clEnumValN(::cs336::AdamWForm::CS336Spring2026, "cs336_2026", "corrected learning rate, decay before the update"))}]>,
    Option<"lr", "lr", "double", "1e-3", "Learning rate, the maximum of a schedule">,
    Option<"beta1", "beta1", "double", "0.9", "Decay of the first moment">,
    Option<"beta2", "beta2", "double", "0.999", "Decay of the second moment">,
    Option<"eps", "eps", "double", "1e-8", "Added to the root of the second moment">,
    Option<"weightDecay", "weight-decay", "double", "0.01", "Decoupled weight decay">,
    Option<"maxNorm", "max-norm", "double", "0.0", "Clip the gradients' norm to this; 0 does not clip">,
    Option<"warmupSteps", "warmup-steps", "int64_t", "0", "Steps of linear warm-up">,
    Option<"cosineSteps", "cosine-steps", "int64_t", "0", "Step at which the cosine reaches its minimum; 0 for a constant rate">,
    Option<"minLR", "min-lr", "double", "0.0", "Learning rate after the cosine">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def WeightShadowsPass : Pass<"cs336-weight-shadows", "::mlir::ModuleOp"> {
  let summary = "Casts of parameters become values that the update writes";
  let description = [{
    Mixed precision rounds every weight before each product: a read of four bytes and a write of two for each parameter in
    every step. A cast of a parameter to a narrower floating-point type becomes an argument of kind "derived", called
    `shadow.<type>.<parameter>`. Whoever gives the parameter a new value returns the shadow's new value with it, rounded in the
    same kernel: the update and the cast become one `cs336.fused`, so that the cast costs its write alone. A function of mode
    `prepare`, made if there is none, computes the shadow from the parameter, and runs after parameters are initialised,
    loaded or set.

    All functions of the module share a shadow: those that do not update the parameter read it, too. It is the rounded
    parameter to the bit at any time, so nothing that a program computes changes. A packed parameter has one shadow, without
    views. Derived values are in no checkpoint.

    Contract: after `cs336-optimizer`, whose updates write the shadows, and before `cs336-hoist-invariants`. Functions without
    a mode are left alone, and so are casts that lose nothing. A second run changes nothing.

    Before:

    ```mlir
    func.func @train(%w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"}, …)
        -> (…, tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"}, …) … {
      %wl = cs336.cast %w : tensor<8x8xf32> -> tensor<8x8xbf16>
      %h = cs336.matmul %x, %wl …
      …
      %w1, %m1, %v1 = cs336.adamw %w, %dw, %m, %v …
      return …, %w1, …
    ```

    After:

    ```mlir
    func.func @train(%w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"}, …,
                     %wl: tensor<8x8xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.w"})
        -> (…, tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"}, …,
            tensor<8x8xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.w"}) … {
      %h = cs336.matmul %x, %wl …
      …
      %updated:4 = cs336.fused(%w, %dw, %m, %v, …) {
        %w1, %m1, %v1 = cs336.adamw …
        %wl1 = cs336.cast %w1 : tensor<8x8xf32> -> tensor<8x8xbf16>
        cs336.yield %w1, %m1, %v1, %wl1 …
      }
      return …, %updated#0, …, %updated#3
    }
    func.func @prepare(%w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"})
        -> (tensor<8x8xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.w"}) attributes {cs336.mode = #cs336.mode<prepare>} {
      %wl = cs336.cast %w : tensor<8x8xf32> -> tensor<8x8xbf16>
      return %wl : tensor<8x8xbf16>
    }
    ```

    Counts `num-shadows`, shadows; `num-casts`, casts of parameters replaced; `num-updates`, shadows that an update writes.
  }];
  let dependentDialects = ["::cs336::CS336Dialect", "::mlir::func::FuncDialect"];
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
    as bytes are saved, no cycle arises and a kernel's values fit into registers. A pointwise value that several kernels need is
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
    only repeated, reshaped or moved afterwards is not stored in that form.

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

def NamePortsPass : Pass<"cs336-name-ports", "::mlir::ModuleOp"> {
  let summary = "Public functions without a mode become entry points";
  let description = [{
    A function that is not private and has no `cs336.mode` gets the mode of the option, and its arguments and results get the
    kinds and names that they lack: arguments are inputs, but parameters where they are floating-point and the mode has a
    backward pass; results are outputs. Names are `arg0`, `arg1`, …, `result0`, …; a first result that is a floating-point
    scalar is called `loss` in modes that have one. So any function of the dialect compiles and runs.

    Contract: functions that have a mode are left as they are. First in the pipeline.

    Before:

    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    ```

    After:

    ```mlir
    func.func @f(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "arg0"})
        -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "result0"}) attributes {cs336.mode = #cs336.mode<forward>} {
    ```

    Counts `num-entries`, functions made entry points.
  }];
  let options = [Option<"mode", "mode", "::cs336::Mode", "::cs336::Mode::Forward", "Mode of functions that have none",
                        [{::llvm::cl::values(
    clEnumValN(::cs336::Mode::Forward, "forward", "arguments are inputs, results outputs"),
    clEnumValN(::cs336::Mode::Loss, "loss", "the same; the result is called \"loss\""),
    clEnumValN(::cs336::Mode::ForwardBackward, "forward_backward", "gradients of the loss for floating-point arguments"))}]>];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def PrintCostPass : Pass<"cs336-print-cost", "::mlir::ModuleOp"> {
  let summary = "Prints counts, FLOPs and bytes by operation kind, phase and function";
  let description = [{
    Reads `CostOpInterface`. Bytes are those of every operation standing alone, all operands and results once: what
    fusion saves is the difference to a later print. Operations without costs are counted apart. The table goes to the
    standard error stream, as upstream's `--print-op-stats` does; the IR does not change.

    ```
    @forward (forward)
      phase    operation        count        FLOPs        bytes
      forward  cs336.linear         1         4096         1152
      …
    ```
  }];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_PASSES_TD
