//===- Passes.td - Autocast, loss scaling and derived weights -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_PRECISION_PASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AutocastPass : Pass<"cs336-autocast", "::mlir::func::FuncOp"> {
  let summary = "Insert the casts of mixed precision, by the policy of each operation";
  let description = [{
    Changes the floating-point types of operations to those of PyTorch's CUDA autocast, and inserts the casts. The
    policy of an operation (`AutocastOpInterface`) selects its type:

    | operations | type |
    |---|---|
    | GEMMs | the low type |
    | exponentials, powers, reciprocals (a number divided by a tensor), sums, losses | float32 |
    | operations with several inputs | the widest type of the inputs |
    | other operations | the type of the first operand |

    The types of results follow, up to the results of the function. Parameters stay float32. A value is cast to a type
    once, for all operations that read it. With `dtype=tf32` no type changes, and float32 GEMMs get `precision = tf32`.

    Float64 operands do not change. A splat constant behaves like a Python number: it does not influence the widest
    type. If the low type cannot hold the number exactly, the operation computes in float32 and rounds its result.
    Operations with neither a policy nor a fusion kind keep their types, and their operands are cast back.

    Run it before `cs336-decompose`, because the policy is that of PyTorch's operations: x − max inside a cross entropy
    must not round to bf16. Run it before `cs336-differentiate`. A function that already returns gradients or updated
    parameters is an error, and so is a function with several blocks.

    Remarks: `Cast` with the number of casts, or `TF32Allowed` with the number of GEMMs. `Float64Kept` is a
    missed-optimization remark.

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

    Counts `num-casts`, casts inserted; `num-tf32`, operations that may use tf32.
  }];
  let options = [Option<"dtype", "dtype", "::cs336::AutocastType", "::cs336::AutocastType::BF16",
                        "Low type: bf16, fp16 or tf32 (default: bf16)", [{::llvm::cl::values(
    clEnumValN(::cs336::AutocastType::BF16, "bf16", "bfloat16: float32's range, 8 bits of significand"),
    clEnumValN(::cs336::AutocastType::FP16, "fp16", "float16: 11 bits of significand, needs loss scaling"),
    clEnumValN(::cs336::AutocastType::TF32, "tf32", "float32 storage, GEMMs round their inputs to 11 bits"))}]>];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def ScaleLossPass : Pass<"cs336-scale-loss", "::mlir::func::FuncOp"> {
  let summary = "Add a dynamic loss scale to the state of a training step";
  let description = [{
    Adds the state `loss_scale` (f32) to functions of mode `train`. It is needed for float16, where gradients below 6e-8
    are zero.

    - `--cs336-differentiate` starts from the scale instead of 1, so that all gradients are those of loss·scale.
    - `--cs336-optimizer` divides the gradients by the scale, skips the step if a gradient is infinite or NaN, and
      updates the scale.

    The attribute `#cs336.loss_scaling` of the function holds the rule for the updates. Options of the pass take
    precedence over its fields. The defaults of the options apply to functions without the attribute. The loss that the
    function returns is not scaled.

    Run it before `cs336-differentiate`. A function that already returns gradients is an error. Functions that already
    have the state, and functions of other modes, do not change.

    Remark: `Scaled`, with the parameters of the scale.

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
    Option<"init", "init", "double", "65536.0", "First scale (default: 65536)">,
    Option<"growth", "growth", "double", "2.0", "Factor of the scale after `interval` finite steps (default: 2)">,
    Option<"backoff", "backoff", "double", "0.5", "Factor of the scale after a skipped step (default: 0.5)">,
    Option<"interval", "interval", "int64_t", "2000", "Finite steps after which the scale grows (default: 2000)">];
  let dependentDialects = ["::cs336::CS336Dialect"];
}

def WeightShadowsPass : Pass<"cs336-weight-shadows", "::mlir::ModuleOp"> {
  let summary = "Replace casts of parameters with derived weights that the update writes";
  let description = [{
    Replaces a cast of a parameter to a narrower floating-point type with an argument of kind "derived", called
    `shadow.<type>.<parameter>`. We call this value a derived weight. With mixed precision, a step would otherwise round
    every weight before each GEMM, and read four bytes and write two bytes per parameter for it.

    - A function that returns a new value of the parameter also returns the new derived weight. An element-wise update
      and the cast become one `cs336.fused`, so the cast costs only its write.
    - A function of mode `prepare` computes the derived weight from the parameter. It runs after parameters are
      initialised, loaded or set. The pass creates this function if the module has none.
    - All functions of the module share the derived weight. Functions that do not update the parameter read it too.

    The derived weight is always bitwise equal to the rounded parameter, so the results of the program do not change. A
    packed parameter has one derived weight, without views. Checkpoints do not contain derived values.

    A sharded parameter has a derived weight with as many shards: each rank rounds its own part, and a step gathers the
    parts without a cast. A cast behind a `cs336.barrier`, which separates the second gather of a step from the first,
    becomes a barrier of the derived weight.

    Run it after `cs336-optimizer`, whose updates write the derived weights, and before `cs336-hoist-invariants`.
    Functions without a mode and casts that lose no bits do not change. A second run changes nothing.

    Remarks: `Shadowed` for each derived weight of a function. `NoShadows` is a missed-optimization remark: no parameter
    is rounded, or the function has several blocks.

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

    Counts `num-shadows`, derived weights; `num-casts`, casts of parameters replaced; `num-updates`, derived weights
    that an update writes.
  }];
  let dependentDialects = ["::cs336::CS336Dialect", "::mlir::func::FuncDialect"];
}

#endif // CS336_DIALECT_CS336_TRANSFORMS_PRECISION_PASSES_TD
