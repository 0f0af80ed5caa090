// Training steps get a loss scale; options take precedence over the attribute.

// RUN: cs336-opt %s --cs336-scale-loss --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-scale-loss='init=4 interval=9' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=OPTIONS
// RUN: cs336-opt %s --cs336-scale-loss -o %t.mlir
// RUN: cs336-opt %t.mlir --cs336-scale-loss | diff %t.mlir -
// RUN: not cs336-opt %s --cs336-scale-loss=backoff=2 2>&1 | FileCheck %s --check-prefix=BACKOFF

// CHECK-LABEL: func.func @train(
// CHECK-SAME: %{{.*}}: tensor<f32> {cs336.init = #cs336.init<constant value = 6.553600e+04>, cs336.kind = "state", cs336.name = "loss_scale"})
// CHECK-SAME: cs336.loss_scaling = #cs336.loss_scaling
// OPTIONS-LABEL: func.func @train(
// OPTIONS-SAME: #cs336.init<constant value = 4.000000e+00>
// OPTIONS-SAME: cs336.loss_scaling = #cs336.loss_scaling<init = 4.000000e+00, interval = 9>
// BACKOFF: has an impossible loss scaling: backoff must lie in (0, 1), is 2.000000e+00
func.func @train(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"}) -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %w : tensor<f32>
}

// CHECK-LABEL: func.func @attribute(
// CHECK-SAME: #cs336.init<constant value = 8.000000e+00>
// CHECK-SAME: cs336.loss_scaling = #cs336.loss_scaling<init = 8.000000e+00, growth = 3.000000e+00>
// OPTIONS-LABEL: func.func @attribute(
// OPTIONS-SAME: #cs336.init<constant value = 4.000000e+00>
// OPTIONS-SAME: cs336.loss_scaling = #cs336.loss_scaling<init = 4.000000e+00, growth = 3.000000e+00, interval = 9>
func.func @attribute(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"}) -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.loss_scaling = #cs336.loss_scaling<init = 8.0, growth = 3.0>} {
  return %w : tensor<f32>
}

// CHECK-LABEL: func.func @loss(
// CHECK-NOT: loss_scale
func.func @loss(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"}) -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<loss>} {
  return %w : tensor<f32>
}
