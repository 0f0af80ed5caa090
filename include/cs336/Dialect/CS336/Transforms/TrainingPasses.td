//===- TrainingPasses.td - From a loss to a step -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_TRAININGPASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_TRAININGPASSES_TD

include "mlir/Pass/PassBase.td"

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
    arguments alone (casts of weights), and what `CostOpInterface` says must happen once. All are kept where the largest set
    of tensors that are live at once would not shrink by `min-saving` of its bytes: it may be that of the gradients, when
    activations are gone. A function with something to drop has a remark with the bytes. A second run changes nothing:
    what is computed again is read by the backward pass alone.

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
  let options = [Option<"minBytes", "min-bytes", "uint64_t", "65536", "Smallest result that is worth a launch">,
                 Option<"minSaving", "min-saving", "double", "0.0",
                        "By what part the largest live set has to shrink, for anything to be dropped">];
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

#endif // CS336_DIALECT_CS336_TRANSFORMS_TRAININGPASSES_TD
