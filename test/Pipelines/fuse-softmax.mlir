// From the level softmax on, the pipeline makes one kernel of a softmax, and one of its gradient.

// RUN: cs336-opt %s --cs336-pipeline='mode=forward_backward fusion=softmax' | FileCheck %s
// RUN: cs336-opt %s --cs336-pipeline='mode=forward_backward fusion=softmax dtype=bf16' | FileCheck %s
// RUN: cs336-opt %s --cs336-pipeline='mode=forward_backward fusion=none' | FileCheck %s --check-prefix=UNFUSED
// RUN: cs336-opt %s --cs336-pipeline='mode=forward_backward fusion=elementwise' | FileCheck %s --check-prefix=UNFUSED

// CHECK-DAG: cs336.softmax %
// CHECK-DAG: cs336.softmax_backward %
// UNFUSED-NOT: cs336.softmax
func.func @f(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> tensor<f32> {
  %m = cs336.reduce max %x axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %mb = cs336.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = cs336.sub %x, %mb : tensor<4x8xf32>
  %e = cs336.exp %d : tensor<4x8xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %tb = cs336.broadcast %t dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = cs336.div %e, %tb : tensor<4x8xf32>
  %p = cs336.mul %y, %w : tensor<4x8xf32>
  %loss = cs336.reduce sum %p axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
