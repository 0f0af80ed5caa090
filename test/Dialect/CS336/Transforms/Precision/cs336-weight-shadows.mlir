// Rounded parameters become derived values that the update writes and everybody reads.

// RUN: cs336-opt %s --cs336-weight-shadows --mlir-print-debuginfo=false --pass-statistics 2>%t.stats | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
// RUN: cs336-opt %s --cs336-weight-shadows -o %t.mlir && cs336-opt %t.mlir --cs336-weight-shadows | diff %t.mlir -
// RUN: cs336-opt %s --cs336-weight-shadows --convert-cs336-to-exec --mlir-print-debuginfo=false | FileCheck %s --check-prefix=EXEC
// RUN: cs336-opt %s --cs336-weight-shadows --remarks-filter=cs336-weight-shadows 2>&1 >%t.out | FileCheck %s --check-prefix=REMARK

// The update and the cast are one group; the name has no views, as no checkpoint holds it.
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x4xf32> {cs336.init = #cs336.init<ones>, cs336.kind = "parameter", cs336.name = "qk.weight"
// CHECK-SAME: %[[SHADOW:[^:]*]]: tensor<8x4xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.qk.weight"})
// CHECK-SAME: tensor<8x4xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.qk.weight"})
// CHECK: %[[LOSS:.*]] = cs336.reduce sum %[[SHADOW]]
// CHECK: %[[UPDATED:.*]]:4 = cs336.fused(%[[W]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[NEW:.*]], %[[M:.*]], %[[V:.*]] = cs336.adamw
// CHECK-NEXT: %[[ROUNDED:.*]] = cs336.cast %[[NEW]] : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK-NEXT: cs336.yield %[[NEW]], %[[M]], %[[V]], %[[ROUNDED]]
// CHECK-NOT: cs336.cast
// CHECK: return %{{.*}}, %[[UPDATED]]#0, %[[UPDATED]]#1, %[[UPDATED]]#2, %[[UPDATED]]#3 :

// A function that only reads the parameter does not write the derived value.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[SHADOW:[^:]*]]: tensor<8x4xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.qk.weight"}) -> (tensor<8x4xbf16> {cs336.kind = "output", cs336.name = "y"}) attributes
// CHECK-NEXT: cs336.neg %[[SHADOW]]

// One that updates without rounding writes all the same; what computes the new value is no pointwise operation.
// CHECK-LABEL: func.func @reset(
// CHECK: %[[ROWS:.*]] = cs336.pad
// CHECK-NEXT: %[[ROUNDED:.*]] = cs336.cast %[[ROWS]] : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK-NEXT: return %[[ROWS]], %[[ROUNDED]] :

// Extensions, casts of inputs, and functions that leave the parameter alone.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: shadow
// CHECK: cs336.cast %{{.*}} : tensor<4xbf16> -> tensor<4xf32>
// CHECK: cs336.cast %{{.*}} : tensor<4xf32> -> tensor<4xf16>
// CHECK: return

// CHECK-LABEL: func.func @prepare(
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x4xf32> {cs336.init = #cs336.init<ones>, cs336.kind = "parameter", cs336.name = "qk.weight", cs336.views = {{[^]]*}}]})
// CHECK-SAME: -> (tensor<8x4xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.qk.weight"}) attributes {cs336.mode = #cs336.mode<prepare>}
// CHECK-NEXT: %[[ROUNDED:.*]] = cs336.cast %[[W]] : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK-NEXT: return %[[ROUNDED]]

// The update writes over what it reads, and the shadow beside it.
// EXEC: exec.kernel @[[UPDATE:adamw_cast_[0-9a-f]*]](
// EXEC: exec.launch @[[UPDATE]] ins(%qk.weight, %{{[^,]*}}, %m, %v, %lr, %apply : {{.*}}) outs(%qk.weight, %m, %v, %shadow.bf16.qk.weight :
// EXEC-NOT: exec.copy

// STATS-DAG: num-casts 3
// STATS-DAG: num-shadows 1
// STATS-DAG: num-updates 2

// REMARK: [Passed] Shadowed | Category:cs336-weight-shadows | {{.*}}@train reads 'shadow.bf16.qk.weight' instead of rounding 'qk.weight'

#weight = [#cs336.view<"q.weight", 4>, #cs336.view<"k.weight", 4>]

func.func @train(%w: tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "qk.weight", cs336.views = #weight, cs336.init = #cs336.init<ones>},
                 %g: tensor<8x4xf32> {cs336.kind = "input", cs336.name = "g"},
                 %m: tensor<8x4xf32> {cs336.kind = "state", cs336.name = "m"},
                 %v: tensor<8x4xf32> {cs336.kind = "state", cs336.name = "v"},
                 %lr: tensor<f32> {cs336.kind = "input", cs336.name = "lr"},
                 %apply: tensor<i1> {cs336.kind = "input", cs336.name = "apply"})
    -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "loss"},
        tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "qk.weight", cs336.views = #weight},
        tensor<8x4xf32> {cs336.kind = "state", cs336.name = "m"}, tensor<8x4xf32> {cs336.kind = "state", cs336.name = "v"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %l = cs336.cast %w : tensor<8x4xf32> -> tensor<8x4xbf16>
  %again = cs336.cast %w : tensor<8x4xf32> -> tensor<8x4xbf16>
  %s = cs336.reduce sum %l axes = [0] : tensor<8x4xbf16> -> tensor<4xbf16>
  %loss = cs336.cast %s : tensor<4xbf16> -> tensor<4xf32>
  %p1, %m1, %v1 = cs336.adamw %w, %g, %m, %v lr = %lr, correction1 = %lr, correction2 = %lr, scale = %lr, apply = %apply
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
      : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>
  return %loss, %p1, %m1, %v1 : tensor<4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

func.func @forward(%w: tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "qk.weight"})
    -> (tensor<8x4xbf16> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %l = cs336.cast %w : tensor<8x4xf32> -> tensor<8x4xbf16>
  %y = cs336.neg %l : tensor<8x4xbf16>
  return %y : tensor<8x4xbf16>
}

func.func @reset(%x: tensor<4x4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "qk.weight"}) attributes {cs336.mode = #cs336.mode<train>} {
  %w = cs336.pad %x offsets = [0, 0] : tensor<4x4xf32> -> tensor<8x4xf32>
  return %w : tensor<8x4xf32>
}

func.func @others(%b: tensor<4xbf16> {cs336.kind = "parameter", cs336.name = "b"}, %x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"},
                  %w: tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "qk.weight"})
    -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "y"}, tensor<4xf16> {cs336.kind = "output", cs336.name = "z"},
        tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "qk.weight"}) attributes {cs336.mode = #cs336.mode<train>} {
  %y = cs336.cast %b : tensor<4xbf16> -> tensor<4xf32>
  %z = cs336.cast %x : tensor<4xf32> -> tensor<4xf16>
  return %y, %z, %w : tensor<4xf32>, tensor<4xf16>, tensor<8x4xf32>
}
