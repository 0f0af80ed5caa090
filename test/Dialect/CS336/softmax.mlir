// Softmax and its gradient print what they parse, have an adjoint, a policy and a cost, and are no composites.

// RUN: cs336-opt %s --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --mlir-print-op-generic | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --emit-bytecode | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-decompose --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-differentiate --mlir-print-debuginfo=false | FileCheck %s --check-prefix=ADJOINT
// RUN: cs336-opt %s --cs336-autocast=dtype=bf16 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=CAST
// RUN: cs336-opt %s --cs336-print-cost -o /dev/null 2>&1 | FileCheck %s --check-prefix=COST

// CHECK-LABEL: func @softmax
// CHECK:         cs336.softmax %{{.*}} : tensor<2x3x4x8xf32>{{$}}
// CHECK:         cs336.softmax %{{.*}} mask %{{.*}} {scale = 2.500000e-01 : f64} : tensor<2x3x4x8xf32>, tensor<4x8xi1>
// CHECK:         cs336.softmax %{{.*}} : tensor<8xbf16>{{$}}
// CHECK:         cs336.softmax_backward %{{.*}}, %{{.*}} : tensor<2x3x4x8xf32>{{$}}
// CHECK:         cs336.softmax_backward %{{.*}}, %{{.*}} mask %{{.*}} {scale = 2.500000e-01 : f64} : tensor<2x3x4x8xf32>, tensor<4x8xi1>

// COST-LABEL: @softmax
// COST-DAG:     cs336.softmax {{ *}}3 {{ *}}2344
// COST-DAG:     cs336.softmax_backward {{ *}}2 {{ *}}1920
func.func @softmax(%x: tensor<2x3x4x8xf32>, %row: tensor<8xbf16>, %m: tensor<4x8xi1>) {
  %0 = cs336.softmax %x : tensor<2x3x4x8xf32>
  %1 = cs336.softmax %x mask %m {scale = 0.25 : f64} : tensor<2x3x4x8xf32>, tensor<4x8xi1>
  %2 = cs336.softmax %row {scale = 1.0 : f64} : tensor<8xbf16>
  %3 = cs336.softmax_backward %0, %x : tensor<2x3x4x8xf32>
  %4 = cs336.softmax_backward %1, %x mask %m {scale = 0.25 : f64} : tensor<2x3x4x8xf32>, tensor<4x8xi1>
  return
}

// The gradient has the mask and the scale of the softmax.
// ADJOINT-LABEL: func @gradient
// ADJOINT:         %[[Y:.*]] = cs336.softmax %[[X:.*]] mask %[[M:.*]] {scale = 2.500000e-01 : f64}
// ADJOINT:         cs336.broadcast
// ADJOINT:         %[[DY:.*]] = cs336.mul
// ADJOINT:         %[[DX:.*]] = cs336.softmax_backward %[[Y]], %[[DY]] mask %[[M]] {scale = 2.500000e-01 : f64} : tensor<4x8xf32>, tensor<4x8xi1>
// ADJOINT:         return %{{.*}}, %[[DX]]
func.func @gradient(%x: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "x"},
                    %m: tensor<4x8xi1> {cs336.kind = "input", cs336.name = "m"},
                    %w: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %y = cs336.softmax %x mask %m {scale = 0.25 : f64} : tensor<4x8xf32>, tensor<4x8xi1>
  %z = cs336.mul %y, %w : tensor<4x8xf32>
  %loss = cs336.reduce sum %z axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// Scores that a matmul computes in bf16 are widened.
// CAST-LABEL: func @scores
// CAST:         %[[S:.*]] = cs336.matmul {{.*}} -> tensor<4x4xbf16>
// CAST:         %[[WIDE:.*]] = cs336.cast %[[S]] : tensor<4x4xbf16> -> tensor<4x4xf32>
// CAST:         cs336.softmax %[[WIDE]] : tensor<4x4xf32>
func.func @scores(%q: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = cs336.matmul %q, %q {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %y = cs336.softmax %s : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
