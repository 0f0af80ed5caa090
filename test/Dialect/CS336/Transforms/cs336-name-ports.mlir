// RUN: cs336-opt %s --cs336-name-ports | FileCheck %s --check-prefixes=CHECK,FORWARD
// RUN: cs336-opt %s --cs336-name-ports=mode=forward_backward | FileCheck %s --check-prefixes=CHECK,BACKWARD
// RUN: cs336-opt %s --cs336-name-ports -o %t.once && cs336-opt %t.once --cs336-name-ports | diff %t.once -
// RUN: cs336-opt %s --cs336-name-ports=mode=loss | FileCheck %s --check-prefixes=CHECK,LOSS
// RUN: not cs336-opt %s --cs336-name-ports=mode=prepare 2>&1 | FileCheck %s --check-prefix=MODE

// MODE: unknown mode 'prepare': expected forward, loss or forward_backward

// FORWARD-LABEL: func.func @plain(
// FORWARD-SAME: tensor<4xf32> {cs336.kind = "input", cs336.name = "arg0"}
// FORWARD-SAME: tensor<4xi64> {cs336.kind = "input", cs336.name = "arg1"}
// FORWARD-SAME: -> (tensor<f32> {cs336.kind = "output", cs336.name = "result0"}, tensor<4xf32> {cs336.kind = "output", cs336.name = "result1"})
// FORWARD-SAME: cs336.mode = #cs336.mode<forward>
// BACKWARD-LABEL: func.func @plain(
// BACKWARD-SAME: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "arg0"}
// BACKWARD-SAME: tensor<4xi64> {cs336.kind = "input", cs336.name = "arg1"}
// BACKWARD-SAME: -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}
// LOSS-LABEL: func.func @plain(
// LOSS-SAME: tensor<4xf32> {cs336.kind = "input", cs336.name = "arg0"}
// LOSS-SAME: -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}
func.func @plain(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>) {
  %y = cs336.reduce sum %x axes = [0] : tensor<4xf32> -> tensor<f32>
  return %y, %x : tensor<f32>, tensor<4xf32>
}

// Existing kinds and names are kept.
// CHECK-LABEL: func.func @partly(
// CHECK-SAME: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}
func.func @partly(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// CHECK-LABEL: func.func @entry(%arg0: tensor<4xf32>
// CHECK-SAME: cs336.mode = #cs336.mode<forward>
// CHECK-NOT: cs336.kind
func.func @entry(%x: tensor<4xf32>) -> tensor<4xf32> attributes {cs336.mode = #cs336.mode<forward>} {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func private @helper(
// CHECK-NOT: cs336.mode
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
