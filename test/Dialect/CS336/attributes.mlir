// Attributes of functions, arguments and results, and the dialect's own attributes, print what they parse.

// RUN: cs336-opt %s --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --mlir-print-debuginfo=false | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --mlir-print-op-generic | cs336-opt --mlir-print-debuginfo=false | FileCheck %s

// CHECK-LABEL: func.func @train(
// CHECK-SAME: tensor<8x4xf32> {cs336.init = #cs336.init<truncated_normal, std = 1.250000e-01, cut = 3.000000e+00>, cs336.kind = "parameter", cs336.name = "ab.weight", cs336.views = [#cs336.view<"a.weight", 6>, #cs336.view<"b.weight", 2>]}
// CHECK-SAME: tensor<8x4xf32> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "m"}
// CHECK-SAME: tensor<4xf32> {cs336.kind = "derived", cs336.name = "table"}
// CHECK-SAME: tensor<3xi64> {cs336.bound = 97 : i64, cs336.kind = "input", cs336.name = "tokens"}
// CHECK-SAME: tensor<f32> {cs336.kind = "output", cs336.name = "loss"}
// CHECK-SAME: tensor<8x4xf32> {cs336.kind = "gradient", cs336.name = "ab.weight"}
// CHECK-SAME: cs336.mode = #cs336.mode<train>
// CHECK-SAME: cs336.optimizer = #cs336.optimizer<form = cs336_2026, lr = 3.000000e-04, weight_decay = 1.000000e-01, max_norm = 1.000000e+00, warmup_steps = 10, cosine_steps = 100>
func.func @train(%w: tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "ab.weight",
                   cs336.init = #cs336.init<truncated_normal, std = 0.125, cut = 3.0>,
                   cs336.views = [#cs336.view<"a.weight", 6>, #cs336.view<"b.weight", 2>]},
                 %m: tensor<8x4xf32> {cs336.kind = "state", cs336.name = "m", cs336.init = #cs336.init<zeros>},
                 %table: tensor<4xf32> {cs336.kind = "derived", cs336.name = "table"},
                 %tokens: tensor<3xi64> {cs336.kind = "input", cs336.name = "tokens", cs336.bound = 97 : i64})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"},
        tensor<8x4xf32> {cs336.kind = "gradient", cs336.name = "ab.weight"})
    attributes {cs336.mode = #cs336.mode<train>,
                cs336.optimizer = #cs336.optimizer<lr = 3.0e-4, form = cs336_2026, weight_decay = 0.1, max_norm = 1.0, warmup_steps = 10, cosine_steps = 100>} {
  %loss = cs336.reduce sum %w axes = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss, %w : tensor<f32>, tensor<8x4xf32>
}

// CHECK: @forward() attributes {cs336.mode = #cs336.mode<forward>}
func.func private @forward() attributes {cs336.mode = #cs336.mode<forward>}
// CHECK: @loss() attributes {cs336.mode = #cs336.mode<loss>}
func.func private @loss() attributes {cs336.mode = #cs336.mode<loss>}
// CHECK: @both() attributes {cs336.mode = #cs336.mode<forward_backward>}
func.func private @both() attributes {cs336.mode = #cs336.mode<forward_backward>}
// CHECK: @prepare() attributes {cs336.mode = #cs336.mode<prepare>}
func.func private @prepare() attributes {cs336.mode = #cs336.mode<prepare>}

// Omitted fields have their default and are not printed; a number that needs all its digits keeps them.
// CHECK: @defaults() attributes {cs336.optimizer = #cs336.optimizer}
func.func private @defaults() attributes {cs336.optimizer = #cs336.optimizer<lr = 1.0e-3, beta1 = 0.9>}
// CHECK: @digits() attributes {cs336.optimizer = #cs336.optimizer<lr = 0.088388347648318447>}
func.func private @digits() attributes {cs336.optimizer = #cs336.optimizer<lr = 0.088388347648318447>}

// Parts of tensors, whose views cover the whole.

// CHECK-LABEL: func.func @sharded(
// CHECK-SAME: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "ab", cs336.shards = 2 : i64, cs336.views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]}
// CHECK-SAME: tensor<4xf32> {cs336.kind = "state", cs336.name = "m", cs336.shards = 2 : i64}
// CHECK-SAME: tensor<4x4xbf16> {cs336.kind = "derived", cs336.name = "shadow", cs336.shards = 2 : i64}
// CHECK-SAME: -> (tensor<4x4xf32> {cs336.kind = "gradient", cs336.name = "ab", cs336.shards = 2 : i64})
func.func @sharded(%w: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "ab", cs336.shards = 2 : i64,
                     cs336.views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]},
                   %m: tensor<4xf32> {cs336.kind = "state", cs336.name = "m", cs336.shards = 2 : i64},
                   %d: tensor<4x4xbf16> {cs336.kind = "derived", cs336.name = "shadow", cs336.shards = 2 : i64})
    -> (tensor<4x4xf32> {cs336.kind = "gradient", cs336.name = "ab", cs336.shards = 2 : i64}) {
  return %w : tensor<4x4xf32>
}
