// Gradients that cannot be those of a softmax keep its primitives, with a remark.

// RUN: cs336-opt %s --cs336-differentiate --cs336-fuse-softmax --mlir-print-debuginfo=false --remarks-filter=cs336-fuse-softmax --remark-format=emitRemark 2>&1 | FileCheck %s

// The gradient of a reciprocal has another form.

// CHECK: [Missed] NotFused {{.*}}"not fused as a softmax: its {{.*}} used elsewhere too"
// CHECK-LABEL: func @reciprocal(
// CHECK:         cs336.exp
// CHECK-NOT:     cs336.softmax
// CHECK:         return
func.func @reciprocal(%x: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "x"},
    %w: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %max = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x8xf32> -> tensor<4xf32>
  %mb = cs336.broadcast %max dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = cs336.sub %x, %mb : tensor<4x8xf32>
  %e = cs336.exp %d : tensor<4x8xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %one = cs336.constant dense<1.0> : tensor<4xf32>
  %r = cs336.div %one, %t : tensor<4xf32>
  %tb = cs336.broadcast %r dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = cs336.mul %tb, %e : tensor<4x8xf32>
  %p = cs336.mul %y, %w : tensor<4x8xf32>
  %loss = cs336.reduce sum %p axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
