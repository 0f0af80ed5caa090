// In a program that was differentiated before, the gradient of a softmax's primitives becomes one operation, too.

// RUN: cs336-opt %s --cs336-differentiate --cs336-fuse-softmax --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-differentiate --canonicalize --cse --cs336-fuse-softmax --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-fuse-softmax --cs336-differentiate --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-differentiate --cs336-fuse-softmax --mlir-print-debuginfo=false > %t.once
// RUN: cs336-opt %t.once --cs336-fuse-softmax --mlir-print-debuginfo=false | diff %t.once -
// RUN: cs336-opt %s --cs336-differentiate --cs336-fuse-softmax -o /dev/null --remarks-filter=cs336-fuse-softmax --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// Without a gradient of the maximum.

// CHECK-LABEL: func @masked(
// CHECK:         %[[Y:.*]] = cs336.softmax %[[X:.*]] mask %[[V:.*]] {scale = 2.500000e-01 : f64}
// CHECK-NOT:     cs336.exp
// CHECK-NOT:     cs336.div
// CHECK:         %[[DX:.*]] = cs336.softmax_backward %[[Y]], %{{.*}} mask %[[V]] {scale = 2.500000e-01 : f64} : tensor<4x8xf32>, tensor<4x8xi1>
// CHECK:         return %{{.*}}, %[[DX]]
// REMARK: [Passed] Fused {{.*}}"a softmax of 8 elements, scaled by 0.25, masked"
// REMARK: [Passed] GradientFused {{.*}}"the gradient of a softmax of 8 elements, scaled by 0.25, masked"
func.func @masked(%x: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "x"},
    %w: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "w"}, %v: tensor<4x8xi1> {cs336.kind = "input", cs336.name = "v"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %c = cs336.constant dense<2.5e-01> : tensor<4x8xf32>
  %hidden = cs336.constant dense<0xFF800000> : tensor<4x8xf32>
  %s = cs336.mul %x, %c : tensor<4x8xf32>
  %z = cs336.select %v, %s, %hidden : tensor<4x8xf32>
  %max = cs336.reduce max %z axes = [1] {stop_gradient} : tensor<4x8xf32> -> tensor<4xf32>
  %mb = cs336.broadcast %max dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = cs336.sub %z, %mb : tensor<4x8xf32>
  %e = cs336.exp %d : tensor<4x8xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %tb = cs336.broadcast %t dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = cs336.div %e, %tb : tensor<4x8xf32>
  %p = cs336.mul %y, %w : tensor<4x8xf32>
  %loss = cs336.reduce sum %p axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// With one, which is zero but for rounding.

// CHECK-LABEL: func @maximum(
// CHECK:         %[[Y:.*]] = cs336.softmax %[[X:.*]] mask %[[V:.*]] {scale = 2.500000e-01 : f64}
// CHECK-NOT:     cs336.exp
// CHECK-NOT:     cs336.div
// CHECK:         %[[DX:.*]] = cs336.softmax_backward %[[Y]], %{{.*}} mask %[[V]] {scale = 2.500000e-01 : f64} : tensor<4x8xf32>, tensor<4x8xi1>
// CHECK:         return %{{.*}}, %[[DX]]
// REMARK: [Passed] Fused {{.*}}"a softmax of 8 elements, scaled by 0.25, masked"
// REMARK: [Passed] GradientFused {{.*}}"the gradient of a softmax of 8 elements, scaled by 0.25, masked"
func.func @maximum(%x: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "x"},
    %w: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "w"}, %v: tensor<4x8xi1> {cs336.kind = "input", cs336.name = "v"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %c = cs336.constant dense<2.5e-01> : tensor<4x8xf32>
  %hidden = cs336.constant dense<0xFF800000> : tensor<4x8xf32>
  %s = cs336.mul %x, %c : tensor<4x8xf32>
  %z = cs336.select %v, %s, %hidden : tensor<4x8xf32>
  %max = cs336.reduce max %z axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %mb = cs336.broadcast %max dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = cs336.sub %z, %mb : tensor<4x8xf32>
  %e = cs336.exp %d : tensor<4x8xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %tb = cs336.broadcast %t dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = cs336.div %e, %tb : tensor<4x8xf32>
  %p = cs336.mul %y, %w : tensor<4x8xf32>
  %loss = cs336.reduce sum %p axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
