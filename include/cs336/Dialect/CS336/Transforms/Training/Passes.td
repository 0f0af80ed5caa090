//===- Passes.td - Passes that turn a loss into a training step -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_TRAINING_PASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"cs336-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Add the gradient of the loss for every parameter (reverse mode)";
  let description = [{
    Adds the operations that compute the gradient of the loss for every parameter. It changes functions of mode
    `forward_backward` and `train` that return no gradients yet. The function gets one more result per parameter, of
    kind "gradient", with the parameter's name and views.

    The pass goes from the result named "loss" back to the parameters. Each operation builds its own adjoint
    (`DifferentiableOpInterface`). A composite without an adjoint is decomposed first. The gradients of several uses of
    a value are added in the order in which the walk meets the uses. With the state `loss_scale` (`--cs336-scale-loss`),
    the gradients are those of loss·scale.

    Paths through integers and predicates have no gradient. If the loss does not depend on a parameter, its gradient is
    zero. The new operations are at the end of the function. Each has the location of the operation whose adjoint it
    belongs to, wrapped as `loc("backward"(…))`. Operations that remain unused are erased. The time is linear in the
    number of operations.

    The function must have one block and a result "loss", which is a floating-point tensor of rank 0. If an operation
    between a parameter and the loss has no adjoint, the pass reports an error at its location.

    Remark: `NoGradient` (missed) at a parameter that the loss does not depend on.

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

    Counts `num-adjoints`, adjoints built; `num-gradients`, gradients returned; `num-erased`, unused backward operations
    erased.
  }];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def DistributePass : Pass<"cs336-distribute", "::mlir::func::FuncOp"> {
  let summary = "Average gradients and the loss over ranks, and shard parameters (data parallelism)";
  let description = [{
    Replaces every returned gradient, and the output "loss", with its mean over `world-size` ranks. All ranks run the
    same program, each on its own inputs. The pass changes functions of mode `train` and `forward_backward` that return
    gradients. Functions of other modes run on each rank alone, unless parameters are sharded.

    The loss must be a mean over the inputs, and all ranks must have inputs of the same shapes. The results are then
    equal to those of one rank with the inputs of all ranks, up to rounding.

    The mode places the collectives (`cs336.collective all_reduce mean`). A gradient is ready after the operation that
    computes it, and after the last addition if a parameter has several uses:

    | `mode` | collectives | position |
    |---|---|---|
    | `per-parameter` | one per gradient | at the end, in the order of the results |
    | `flat` | one, of all gradients | at the end |
    | `overlap` | one per gradient | where the gradient is ready |
    | `bucket` | one per bucket | where the last gradient of the bucket is ready |
    | `zero1` | as `bucket`; parameters are sharded, and gathered once | before their first use |
    | `fsdp` | as `zero1`, with a second gather for the backward pass | before the first use in each pass |

    Gradients are added to buckets in the order in which they are ready. A bucket contains gradients of only one element
    type. It is complete when it has `bucket-mib` MiB or more; the last bucket of a type has the rest. The default size
    is a twentieth of all gradients, and at least 25 MiB. Larger buckets use the links better, but the exchange of the
    last bucket does not overlap with computation, so it must not be too large. Unless a size is given, a bucket is also
    complete when the next gradient would make it larger than 256 MiB, with which links reach their bandwidth. The loss
    is ready before all gradients, and is exchanged like a gradient.

    `bucket-mib=auto` chooses the size by predicted times, on the device that `predict-on` names. A collective takes a
    constant time, a latency per step of a ring, and the time of its bytes. It starts when its gradients are ready and
    the previous collective has ended. GEMMs, attention and tables take the time of their FLOPs or of their memory
    accesses, whichever is longer; other operations take none. Among the powers of two from 64 KiB up to all gradients
    or 256 MiB, the pass chooses the largest size whose last collective ends at most 1 % of the step later than with the
    best size. The remark `BucketSize` has the choice and its predicted times.

    If the last operation of a gradient widens a bf16 or f16 value, the ranks exchange the narrow value, and the mean is
    widened instead. All ranks get the same bits. On CPUs and on two GPUs, they accumulate in float32. On more GPUs, NCCL
    may round after each rank. A gradient that is a constant is equal on all ranks and is not exchanged.

    **Sharded parameters.** In the modes `zero1` and `fsdp`, each floating-point parameter of rank 2 or more is sharded,
    in functions of every mode, if the size of its axis 0 is a multiple of `world-size`: each rank has a part of that
    axis (`cs336.shards`). Other parameters are replicated. Operations read an all-gather of the part. If they read a
    cast to a narrower type, the part is cast before it is gathered. One collective gathers the parameters of one layer
    whose first uses follow each other; a layer is a name up to its first number, such as `layers.3`. The collective is
    placed `prefetch` layers before the first use. The default is one layer or, in mode `zero1` of a function that
    exchanges gradients, all layers. In the last case, a collective may gather up to `gather-layers` layers, but at most
    a quarter as many as are gathered before it: copies between GPUs are then fewer and longer, and the first layers are
    not delayed. In mode `zero1`, the gathered values live until their last use in the backward pass. In mode `fsdp`, the operations of the backward pass read a second gather, so the memory is free between the
    two passes. The layer that the forward pass gathers last is an exception: it is kept for the backward pass.

    In a `train` function, each rank gets its part of the mean of the gradient of a sharded parameter
    (`reduce_scatter mean`), and the optimizer updates the part. A `forward_backward` function returns whole gradients.

    **Factors.** The gradient of a matrix is leftᵀ · right [rows, columns], of two factors that have a row for each
    token. With `factors` above 0, ranks exchange the factors in place of the gradient of a sharded parameter if a rank
    then sends at most `factors` times the bytes, so if tokens·(1/columns + ranks/rows) ≤ `factors`. Each rank gets the
    columns of the left factor that belong to its rows (`all_to_all`), gathers the right factor, and computes its rows
    of the sum over the tokens of all ranks. This takes as many multiplications as before, and one kernel can compute
    the rows and update the parameter by them (`--exec-fuse-updates`). Factors are exchanged in buckets of `bucket-mib`
    or 25 MiB, by the bytes that a rank sends. The sums of a bucket are computed after the exchange of the fourth bucket
    after it, or of the second in mode `fsdp`. This applies to gradients in bf16 that only the update reads, and not to a
    function whose `cs336.optimizer` clips gradients, because all updates then wait for the norm. In a function with
    factors, the other gradients of sharded parameters are not reduced, if they have at most 256 MiB together: each rank
    gets its rows from all ranks (`all_to_all`), and adds them in float32. Values that are reduced follow these exchanges.

    In mode `bucket`, ranks do the same for gradients of parameters that they store whole, and then gather the rows of the
    sums in buckets (`all_gather`), if at least nine tenths of the gradients that have factors satisfy the condition. The
    gathers follow all exchanges of factors, which they would delay. The gradients of other matrices are gathered whole
    and added in float32, if those of all ranks have at most 256 MiB together.

    Run it after `cs336-differentiate` and `cs336-checkpoint`, and before `cs336-optimizer`. The optimizer then reads
    averaged gradients: clipping uses the norm of the averaged gradient. With a loss scale, an infinity or a NaN of any
    rank remains in the mean, so all ranks skip the same steps. New operations have the location
    `loc("communication"(loc("<parameter>")))`; collectives of several gradients have "gradients" or "bucket<n>" in
    place of the parameter, exchanges of factors "factors<n>", and gathers of sums "sums<n>".

    With `world-size` 1, and on functions that contain collectives, the pass changes nothing. Errors: a `world-size`
    below 1, a negative `bucket-mib`, an unknown `predict-on`, a `prefetch` below -1, `gather-layers` below 1, negative
    `factors`, a `train` function without gradients, a function with several blocks, and a function that returns the new
    value of a parameter to shard.

    Remarks: `Distributed` for each function; `BucketSize` for the choice of `bucket-mib=auto`; `Bucketed` for each
    collective of several gradients, with their names and bytes; `Sharded` and `Scattered`, with the numbers of
    parameters and the bytes of all gathers and scatters; `Factored`, with the bytes of factors and of the gradients that
    they replace; `Replicated` (missed) for a matrix whose rows cannot be divided equally among the ranks;
    `HasCollectives` (missed) for a function that contains collectives.

    Before:

    ```mlir
    %dv = cs336.matmul %y, %dz {transpose_a} : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
    …
    %dw = cs336.matmul %x, %dy {transpose_a} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    return %loss, %dw, %dv : tensor<f32>, tensor<8x8xf32>, tensor<8x2xf32>
    ```

    After `--cs336-distribute='world-size=4 mode=overlap'`:

    ```mlir
    %loss_mean = cs336.collective all_reduce mean(%loss) group = 4 : (tensor<f32>) -> tensor<f32>
    …
    %dv = cs336.matmul %y, %dz {transpose_a} : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
    %dv_mean = cs336.collective all_reduce mean(%dv) group = 4 : (tensor<8x2xf32>) -> tensor<8x2xf32>
    …
    %dw = cs336.matmul %x, %dy {transpose_a} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    %dw_mean = cs336.collective all_reduce mean(%dw) group = 4 : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %loss_mean, %dw_mean, %dv_mean : tensor<f32>, tensor<8x8xf32>, tensor<8x2xf32>
    ```

    After `--cs336-distribute='world-size=4 mode=fsdp'`, where %w is `layers.0.w` and %v `layers.1.v`:

    ```mlir
    func.func @train(%w: tensor<2x8xf32> {cs336.kind = "parameter", cs336.name = "layers.0.w", cs336.shards = 4 : i64}, …
    %w0 = cs336.collective all_gather(%w) group = 4 : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %v0 = cs336.collective all_gather(%v) group = 4 : (tensor<2x2xf32>) -> tensor<8x2xf32>
    %y = cs336.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    …
    %dv = cs336.matmul %y, %dz {transpose_a} : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
    %again = cs336.barrier %w : tensor<2x8xf32>
    %w1 = cs336.collective all_gather(%again) group = 4 : (tensor<2x8xf32>) -> tensor<8x8xf32>
    …
    %dw = cs336.matmul %x, %dy {transpose_a} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    %parts:2 = cs336.collective reduce_scatter mean(%dv, %dw) group = 4 : (tensor<8x2xf32>, tensor<8x8xf32>) -> (tensor<2x2xf32>, tensor<2x8xf32>)
    return %loss_mean, %parts#1, %parts#0 : tensor<f32>, tensor<2x8xf32>, tensor<2x2xf32>
    ```

    Counts `num-collectives`, collectives added; `num-exchanged`, gradients and losses exchanged; `num-sharded`,
    parameters sharded.
  }];
  let options = [
    Option<"worldSize", "world-size", "int64_t", "1", "Number of ranks that run the program together (default: 1)">,
    Option<"mode", "mode", "::cs336::DistributeMode", "::cs336::DistributeMode::Bucket",
           "Position of the collectives, and the gradients in each (default: bucket)",
           [{::llvm::cl::values(
      clEnumValN(::cs336::DistributeMode::PerParameter, "per-parameter", "one per gradient, after the backward pass"),
      clEnumValN(::cs336::DistributeMode::Flat, "flat", "one of all gradients, after the backward pass"),
      clEnumValN(::cs336::DistributeMode::Overlap, "overlap", "one per gradient, as soon as it is ready"),
      clEnumValN(::cs336::DistributeMode::Bucket, "bucket", "one per bucket, as soon as its last gradient is ready"),
      clEnumValN(::cs336::DistributeMode::Zero1, "zero1", "as bucket, with sharded parameters that are gathered once"),
      clEnumValN(::cs336::DistributeMode::FSDP, "fsdp", "as zero1, and the backward pass gathers them again"))}]>,
    Option<"bucketMiB", "bucket-mib", "::cs336::BucketSize", "::cs336::BucketSize()",
           "Size in MiB at which a bucket is complete, or auto: chosen by predicted times (default: a twentieth of all "
           "gradients, 25 to 256)">,
    Option<"predictOn", "predict-on", "std::string", "\"h200\"",
           "Device whose rates and links bucket-mib=auto uses: h200 (default), h100, a100 or cpu">,
    Option<"prefetch", "prefetch", "int64_t", "-1",
           "Number of layers by which sharded parameters are gathered ahead of their first use (default: all for a "
           "backward pass of mode zero1, otherwise 1)">,
    Option<"gatherLayers", "gather-layers", "int64_t", "4",
           "Maximum number of layers that a collective gathers if all of them are gathered ahead (default: 4)">,
    Option<"factors", "factors", "double", "0",
           "Compute the gradient of a sharded parameter from the factors of all ranks if a rank then sends at most so "
           "many times the bytes (default: 0, never)">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def OptimizerPass : Pass<"cs336-optimizer", "::mlir::func::FuncOp"> {
  let summary = "Turn gradients into updates of parameters and optimizer state";
  let description = [{
    Replaces each gradient result of a `train` function with the new value of its parameter, and adds the state of AdamW
    as arguments and results:

    | state | type | contents |
    |---|---|---|
    | `adamw.step` | i64 | the number of updates before this one, initially 0 |
    | `adamw.m.<parameter>`, `adamw.v.<parameter>` | float32; float64 for float64 parameters | the moments |

    The attribute `#cs336.optimizer` of the function holds the hyper-parameters. Options of the pass take precedence
    over its fields. The defaults of the options apply to functions without the attribute.

    **Schedule.** With t = step + 1, the scalars 1 − β₁ᵗ, 1 − β₂ᵗ and the learning rate are computed in float64, and
    then cast to the type of m and v. In float32, 1 − β₂ᵗ would have an error of 1e-5. The learning rate follows CS336's
    `get_lr_cosine_schedule`, at the zero-based iteration it = step:

        it < warmup:             lr·it/warmup
        warmup ≤ it ≤ cosine:    min + ½(1 + cos(π(it − warmup)/(cosine − warmup)))·(lr − min)
        it > cosine:             min

    The first step of a warm-up has learning rate 0. Without `cosine-steps`, the rate stays at `lr` after the warm-up.

    **Clipping.** With `max-norm` M > 0, all gradients are multiplied by min(1, M/(‖g‖₂ + 1e-6)), where ‖g‖₂ is the norm
    over all gradients together. The function returns ‖g‖₂ as the output "grad_norm". Up to eight ranks add the
    squares of each gradient as if it were sharded: for every rank those of its rows, and then these sums in the order of
    ranks. The norm of replicated gradients has the same bits as that of sharded ones.

    **Loss scale.** With the state `loss_scale` (`--cs336-scale-loss`), the gradients are multiplied by 1/scale before
    their norm is computed. If any element is infinite or NaN, the step is skipped: parameters and AdamW's state keep
    their values, `adamw.step` does not advance, and the scale is multiplied by the backoff. Otherwise `growth_tracker`
    (i32, state) counts up to the interval after which the scale grows. All of this happens on the device. The elements
    are tested one by one, so finite gradients whose sum overflows do not skip the step.

    If the last operation of a gradient widens the bf16 or f16 result of a GEMM, the update reads the narrow value. New
    operations have the location `loc("optimizer"(loc("<parameter>")))`.

    Run it after `cs336-differentiate`. A `train` function that already has the state does not change. Errors: a `train`
    function without gradients or with several blocks, a gradient without a parameter of its name and type, an output
    called "grad_norm" with `max-norm`, options out of range, and a `loss_scale` without `cs336.loss_scaling`.

    Remark: `Updated`, with the number of parameters.

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
    Option<"kind", "kind", "::cs336::OptimizerKind", "::cs336::OptimizerKind::AdamW", "Optimizer (default: adamw)",
           [{::llvm::cl::values(clEnumValN(::cs336::OptimizerKind::AdamW, "adamw", "Adam with decoupled weight decay"))}]>,
    Option<"form", "form", "::cs336::AdamWForm", "::cs336::AdamWForm::PyTorch",
           "Published form of AdamW (default: pytorch)",
           [{::llvm::cl::values(
      clEnumValN(::cs336::AdamWForm::PyTorch, "pytorch",
               "torch.optim.AdamW: decay first, epsilon added to the corrected root"),
      clEnumValN(::cs336::AdamWForm::CS336Spring2025, "cs336_2025", "corrected learning rate, decay after the update"),
      clEnumValN(::cs336::AdamWForm::CS336Spring2026, "cs336_2026", "corrected learning rate, decay before the update"))}]>,
    Option<"lr", "lr", "double", "1e-3", "Learning rate; the maximum of a schedule (default: 1e-3)">,
    Option<"beta1", "beta1", "double", "0.9", "Decay of the first moment (default: 0.9)">,
    Option<"beta2", "beta2", "double", "0.999", "Decay of the second moment (default: 0.999)">,
    Option<"eps", "eps", "double", "1e-8", "Number added to the root of the second moment (default: 1e-8)">,
    Option<"weightDecay", "weight-decay", "double", "0.01", "Decoupled weight decay (default: 0.01)">,
    Option<"maxNorm", "max-norm", "double", "0.0",
           "Largest norm of all gradients together; 0 does not clip (default: 0)">,
    Option<"warmupSteps", "warmup-steps", "int64_t", "0", "Steps of linear warm-up (default: 0)">,
    Option<"cosineSteps", "cosine-steps", "int64_t", "0",
           "Step at which the cosine reaches its minimum; 0 for a constant rate (default: 0)">,
    Option<"minLR", "min-lr", "double", "0.0", "Learning rate after the cosine (default: 0)">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_TRAINING_PASSES_TD
