// RUN: cs336-opt %s --cs336-optimizer --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-optimizer | FileCheck %s --check-prefix=LOC
// RUN: cs336-opt %s --cs336-optimizer='form=cs336_2025 lr=0.5 max-norm=2' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=OPTIONS
// RUN: cs336-opt %s --cs336-optimizer -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --cs336-optimizer -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir

// New parameters replace gradients; state is added as arguments and results that start as zeros.
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.views = [#cs336.view<"a", 1>, #cs336.view<"b", 1>]}
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4xf32> {cs336.kind = "input", cs336.name = "x"}
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<i64> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "adamw.step"}
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<2x4xf32> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "adamw.m.w", cs336.views = [#cs336.view<"adamw.m.a", 1>, #cs336.view<"adamw.m.b", 1>]}
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<2x4xf32> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "adamw.v.w", cs336.views = [#cs336.view<"adamw.v.a", 1>, #cs336.view<"adamw.v.b", 1>]}
// CHECK-SAME: -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<i64> {cs336.kind = "state", cs336.name = "adamw.step"}, tensor<2x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.views = {{.*}}}, tensor<2x4xf32> {cs336.kind = "state", cs336.name = "adamw.m.w"
// OPTIONS-LABEL: func.func @train(
// OPTIONS-SAME: cs336.optimizer = #cs336.optimizer<form = cs336_2025, lr = 5.000000e-01, beta2 = 0.94999999999999996, weight_decay = 1.000000e-01, max_norm = 2.000000e+00>
func.func @train(%w: tensor<2x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.views = [#cs336.view<"a", 1>, #cs336.view<"b", 1>]},
                 %x: tensor<2x4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"},
        tensor<2x4xf32> {cs336.kind = "gradient", cs336.name = "w", cs336.views = [#cs336.view<"a", 1>, #cs336.view<"b", 1>]})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<form = cs336_2026, lr = 1.0e-2, beta2 = 0.95, weight_decay = 0.1>} {
  // Scalars are float64 until the very end.
  // CHECK: %[[NEXT:.*]] = cs336.add %[[STEP]], %{{.*}} : tensor<i64>
  // CHECK: %[[T:.*]] = cs336.cast %[[NEXT]] : tensor<i64> -> tensor<f64>
  // CHECK: %[[LR:.*]] = cs336.constant dense<1.000000e-02> : tensor<f64>
  // CHECK: %[[B1:.*]] = cs336.constant dense<9.000000e-01> : tensor<f64>
  // CHECK: %[[P1:.*]] = cs336.pow %[[B1]], %[[T]] : tensor<f64>
  // CHECK: %[[C1:.*]] = cs336.sub %{{.*}}, %[[P1]] : tensor<f64>
  // CHECK: cs336.constant dense<0.94999999999999996> : tensor<f64>
  // CHECK: %[[C2:.*]] = cs336.sub
  // CHECK: %[[YES:.*]] = cs336.constant dense<true> : tensor<i1>
  // CHECK: %[[ONE:.*]] = cs336.constant dense<1.000000e+00> : tensor<f64>
  // CHECK: %[[LR32:.*]] = cs336.cast %[[LR]] : tensor<f64> -> tensor<f32>
  // CHECK: %[[C132:.*]] = cs336.cast %[[C1]] : tensor<f64> -> tensor<f32>
  // CHECK: %[[C232:.*]] = cs336.cast %[[C2]] : tensor<f64> -> tensor<f32>
  // CHECK: %[[S32:.*]] = cs336.cast %[[ONE]] : tensor<f64> -> tensor<f32>
  // CHECK: %[[W1:[^ ,]+]], %[[M1:[^ ,]+]], %[[V1:[^ ,]+]] = cs336.adamw %[[W]], %[[X]], %[[M]], %[[V]] lr = %[[LR32]], correction1 = %[[C132]], correction2 = %[[C232]], scale = %[[S32]], apply = %[[YES]]
  // CHECK-SAME: beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, eps = 1.000000e-08 : f64, form = #cs336.adamw_form<cs336_2026>, weight_decay = 1.000000e-01 : f64
  // CHECK-NEXT: return %{{.*}}, %[[NEXT]], %[[W1]], %[[M1]], %[[V1]] : tensor<f32>, tensor<i64>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  // LOC: cs336.adamw {{.*}} loc(#[[LOC:loc.*]])
  // LOC: #[[W:.*]] = loc("w")
  // LOC: #[[LOC]] = loc("optimizer"(#[[W]]))
  // OPTIONS: cs336.adamw {{.*}} form = #cs336.adamw_form<cs336_2025>
  %loss = cs336.reduce sum %w axes = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss, %x : tensor<f32>, tensor<2x4xf32>
}

// One norm over all gradients; the factor is min(1, M/(‖g‖ + 1e-6)).
// CHECK-LABEL: func.func @clip(
// CHECK-SAME: -> (tensor<f32> {cs336.kind = "output", cs336.name = "grad_norm"}, tensor<i64> {{.*}}
func.func @clip(%a: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "a"}, %b: tensor<3xbf16> {cs336.kind = "parameter", cs336.name = "b"})
    -> (tensor<3xbf16> {cs336.kind = "gradient", cs336.name = "b"}, tensor<4xf32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<max_norm = 1.0>} {
  // Squares of a gradient are not stored, and all sums are computed before they are added.
  // CHECK: %[[BS:.*]] = cs336.fused(
  // CHECK: %[[BW:.*]] = cs336.cast %{{.*}} : tensor<3xbf16> -> tensor<3xf32>
  // CHECK: %[[B2:.*]] = cs336.mul %[[BW]], %[[BW]]
  // CHECK: cs336.reduce sum %[[B2]] axes = [0]
  // CHECK: : (tensor<3xbf16>) -> tensor<f32>
  // CHECK: %[[AS:.*]] = cs336.fused(
  // CHECK: %[[A2:.*]] = cs336.mul
  // CHECK: cs336.reduce sum %[[A2]] axes = [0]
  // CHECK: %[[SUM:.*]] = cs336.fused(%[[BS]], %[[AS]])
  // CHECK: cs336.add
  // CHECK: %[[NORM:.*]] = cs336.sqrt %[[SUM]]
  // CHECK: %[[EPS:.*]] = cs336.constant dense<9.99999997E-7>
  // CHECK: %[[GUARD:.*]] = cs336.add %[[NORM]], %[[EPS]]
  // CHECK: %[[FACTOR:.*]] = cs336.div %{{.*}}, %[[GUARD]]
  // CHECK: %[[SCALE:.*]] = cs336.min %[[FACTOR]]
  // The moments of a low parameter are float32.
  // CHECK: cs336.adamw {{.*}} scale = %[[SCALE]], {{.*}} : tensor<3xbf16>, tensor<3xbf16>, tensor<3xf32>, tensor<f32>
  // CHECK: cs336.adamw {{.*}} scale = %[[SCALE]], {{.*}} : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
  // CHECK: return %[[NORM]],
  return %b, %a : tensor<3xbf16>, tensor<4xf32>
}

// A gradient that was widened last is read as it was. One that was rounded before that has lost something, and stays
// without it.
// CHECK-LABEL: func.func @widened(
func.func @widened(%a: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "a"}, %x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4xf32> {cs336.kind = "gradient", cs336.name = "a"}) attributes {cs336.mode = #cs336.mode<train>} {
  // CHECK: %[[LOW:.*]] = cs336.cast %{{.*}} : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: cs336.adamw %{{.*}}, %[[LOW]], {{.*}} : tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>, tensor<f32>
  %low = cs336.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %wide = cs336.cast %low : tensor<4xbf16> -> tensor<4xf32>
  return %wide : tensor<4xf32>
}

// With a loss scale: one kernel a gradient, whose elements are compared one by one, and whose norm is that of what is
// not scaled.
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {cs336.kind = "state", cs336.name = "loss_scale"}
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<i64> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "adamw.step"}
// CHECK-SAME: %[[TRACKER:[a-z0-9]+]]: tensor<i32> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "growth_tracker"}
// CHECK-SAME: -> (tensor<f32> {cs336.kind = "output", cs336.name = "grad_norm"}, tensor<f32> {cs336.kind = "state", cs336.name = "loss_scale"}, tensor<i32> {cs336.kind = "state", cs336.name = "growth_tracker"}, tensor<i64> {cs336.kind = "state", cs336.name = "adamw.step"}
func.func @scaled(%a: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "a"}, %g: tensor<4xf32> {cs336.kind = "input", cs336.name = "g"},
                  %scale: tensor<f32> {cs336.kind = "state", cs336.name = "loss_scale"})
    -> (tensor<4xf32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<max_norm = 1.0>,
                cs336.loss_scaling = #cs336.loss_scaling<growth = 4.0, interval = 7>} {
  // CHECK: %[[NEXT:.*]] = cs336.add %[[STEP]]
  // CHECK: %[[INVERSE:.*]] = cs336.div %{{.*}}, %[[SCALE]] : tensor<f32>
  // CHECK: %[[OF:.*]]:2 = cs336.fused(%{{.*}}, %[[INVERSE]]) {
  // CHECK: ^bb0(%[[G:.*]]: tensor<4xf32>, %[[FACTOR:.*]]: tensor<f32>):
  // CHECK: %[[FACTORS:.*]] = cs336.broadcast %[[FACTOR]]
  // CHECK: %[[UNSCALED:.*]] = cs336.mul %[[G]], %[[FACTORS]]
  // CHECK: cs336.mul %[[UNSCALED]], %[[UNSCALED]]
  // CHECK: cs336.reduce sum
  // CHECK: %[[NEGATED:.*]] = cs336.neg %[[G]]
  // CHECK: %[[MAGNITUDE:.*]] = cs336.max %[[G]], %[[NEGATED]]
  // CHECK: %[[INFINITY:.*]] = cs336.constant dense<0x7F800000>
  // CHECK: %[[FINITE:.*]] = cs336.compare lt %[[MAGNITUDE]], %[[INFINITY]]
  // CHECK: cs336.select %[[FINITE]]
  // CHECK: cs336.reduce max
  // CHECK: cs336.sqrt %[[OF]]#0
  // CHECK: %[[APPLY:.*]] = cs336.compare eq %[[OF]]#1
  // CHECK: %[[CLIP:.*]] = cs336.min
  // CHECK: %[[BOTH:.*]] = cs336.mul %[[CLIP]], %[[INVERSE]]
  // CHECK: %[[AFTER:.*]]:3 = cs336.fused(%[[APPLY]], %[[SCALE]], %[[TRACKER]], %[[STEP]], %[[NEXT]]) {
  // CHECK-DAG: cs336.constant dense<7> : tensor<i32>
  // CHECK-DAG: cs336.constant dense<4.000000e+00> : tensor<f32>
  // CHECK-DAG: cs336.constant dense<5.000000e-01> : tensor<f32>
  // CHECK: cs336.yield
  // CHECK: cs336.adamw {{.*}} scale = %[[BOTH]], apply = %[[APPLY]]
  // CHECK: return %{{.*}}, %[[AFTER]]#0, %[[AFTER]]#1, %[[AFTER]]#2,
  return %g : tensor<4xf32>
}

// Linear from 0 at the first step, a cosine to the minimum, then the minimum.
// CHECK-LABEL: func.func @schedule(
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<i64> {{{.*}}"adamw.step"}
func.func @schedule(%a: tensor<f64> {cs336.kind = "parameter", cs336.name = "a"}) -> (tensor<f64> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 2.0, min_lr = 1.0, warmup_steps = 4, cosine_steps = 12>} {
  // CHECK: %[[IT:.*]] = cs336.cast %[[STEP]] : tensor<i64> -> tensor<f64>
  // CHECK: %[[WARMUP:.*]] = cs336.constant dense<4.000000e+00> : tensor<f64>
  // CHECK: %[[ELAPSED:.*]] = cs336.sub %[[IT]], %[[WARMUP]]
  // CHECK: dense<0.39269908169872414>
  // CHECK: %[[PROGRESS:.*]] = cs336.mul %[[ELAPSED]]
  // CHECK: %[[COS:.*]] = cs336.cos %[[PROGRESS]]
  // CHECK: %[[HEIGHT:.*]] = cs336.add %[[COS]]
  // CHECK: dense<5.000000e-01>
  // CHECK: %[[SCALED:.*]] = cs336.mul %[[HEIGHT]]
  // CHECK: %[[ANNEALED:.*]] = cs336.add %[[SCALED]]
  // CHECK: dense<1.200000e+01>
  // CHECK: %[[OVER:.*]] = cs336.compare gt %[[IT]]
  // CHECK: %[[AFTER:.*]] = cs336.select %[[OVER]], %{{.*}}, %[[ANNEALED]]
  // CHECK: dense<5.000000e-01>
  // CHECK: %[[WARMING:.*]] = cs336.mul %[[IT]]
  // CHECK: %[[IS:.*]] = cs336.compare lt %[[IT]]
  // CHECK: %[[RATE:.*]] = cs336.select %[[IS]], %[[WARMING]], %[[AFTER]]
  // A float64 parameter needs no cast.
  // CHECK: cs336.adamw {{.*}} lr = %[[RATE]], {{.*}} : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
  return %a : tensor<f64>
}

// Other modes keep their gradients.
// CHECK-LABEL: func.func @forward_backward(
// CHECK-SAME: -> (tensor<4xf32> {cs336.kind = "gradient", cs336.name = "a"})
func.func @forward_backward(%a: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "a"}) -> (tensor<4xf32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK-NEXT: return
  return %a : tensor<4xf32>
}

// The state of a sharded parameter is sharded like it. The squares of all ranks' parts are added once, and those of a
// whole gradient once.

// CHECK-LABEL: func.func @shards(
// CHECK-SAME: tensor<2x4xf32> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "adamw.m.w", cs336.shards = 4 : i64, cs336.views = [#cs336.view<"adamw.m.a", 8>]}
// CHECK-SAME: tensor<2x4xf32> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "adamw.v.w", cs336.shards = 4 : i64, cs336.views = [#cs336.view<"adamw.v.a", 8>]}
// CHECK-SAME: tensor<4xf32> {cs336.init = #cs336.init<zeros>, cs336.kind = "state", cs336.name = "adamw.m.n"}
// CHECK-SAME: -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<f32> {cs336.kind = "output", cs336.name = "grad_norm"}, {{.*}} tensor<2x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 4 : i64, cs336.views = [#cs336.view<"a", 8>]}
// CHECK: %[[PART:.*]] = cs336.fused
// CHECK: %[[WHOLE:.*]] = cs336.fused
// CHECK: %[[PARTS:.*]] = cs336.collective all_reduce sum(%[[PART]]) group = 4 : (tensor<f32>) -> tensor<f32>
// CHECK: %[[SUM:.*]] = cs336.fused(%[[WHOLE]], %[[PARTS]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: cs336.add
// CHECK: cs336.sqrt %[[SUM]]
// CHECK-NOT: cs336.collective
func.func @shards(%w: tensor<2x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 4 : i64, cs336.views = [#cs336.view<"a", 8>]},
                  %n: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "n"},
                  %x: tensor<2x4xf32> {cs336.kind = "input", cs336.name = "x"}, %y: tensor<4xf32> {cs336.kind = "input", cs336.name = "y"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"},
        tensor<2x4xf32> {cs336.kind = "gradient", cs336.name = "w", cs336.shards = 4 : i64, cs336.views = [#cs336.view<"a", 8>]},
        tensor<4xf32> {cs336.kind = "gradient", cs336.name = "n"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 1.0e-2, max_norm = 1.0>} {
  %loss = cs336.reduce sum %x axes = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss, %x, %y : tensor<f32>, tensor<2x4xf32>, tensor<4xf32>
}

// With a loss scale, the same collective adds the flags of parts with an infinity or a NaN.

// CHECK-LABEL: func.func @scaled_shards(
// CHECK: %[[PART:.*]]:2 = cs336.fused
// CHECK: %[[SUMS:.*]]:2 = cs336.collective all_reduce sum(%[[PART]]#0, %[[PART]]#1) group = 4 : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
// CHECK: cs336.sqrt %[[SUMS]]#0
// CHECK: cs336.compare eq %[[SUMS]]#1, %
func.func @scaled_shards(%w: tensor<2x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 4 : i64},
                         %scale: tensor<f32> {cs336.kind = "state", cs336.name = "loss_scale"},
                         %x: tensor<2x4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<2x4xf32> {cs336.kind = "gradient", cs336.name = "w", cs336.shards = 4 : i64})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 1.0e-2, max_norm = 1.0>, cs336.loss_scaling = #cs336.loss_scaling<interval = 3>} {
  %loss = cs336.reduce sum %x axes = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss, %x : tensor<f32>, tensor<2x4xf32>
}
