//===- MixedPrecisionPasses.td - Types, their scales and copies -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_MIXEDPRECISIONPASSES_TD
#define CS336_DIALECT_CS336_TRANSFORMS_MIXEDPRECISIONPASSES_TD

include "mlir/Pass/PassBase.td"

def AutocastPass : Pass<"cs336-autocast", "::mlir::func::FuncOp"> {
  let summary = "Mixed precision: casts where each operation's policy asks for them";
  let description = [{
    As PyTorch's CUDA autocast. Every operation names its policy through `AutocastOpInterface`: matrix products run in
    the low type; exponentials, powers, reciprocals (a number divided by a tensor), sums and losses in float32;
    operations with several inputs in the widest of them; the rest in the type that they get. Types of results follow,
    up to the function's results. Parameters stay float32, and a value is cast to a type once, however many operations
    read it. With `dtype=tf32` no type changes: float32 products get `precision = tf32`.

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

#endif // CS336_DIALECT_CS336_TRANSFORMS_MIXEDPRECISIONPASSES_TD
