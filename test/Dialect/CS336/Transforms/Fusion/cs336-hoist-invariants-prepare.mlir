// The function that computes the tables is created if there is none.

// RUN: cs336-opt %s --cs336-decompose --cs336-hoist-invariants --mlir-print-debuginfo=false | FileCheck %s

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: tensor<4x4xf32> {cs336.kind = "derived", cs336.name = "[[COS:[^"]+]]"}, %{{.*}}: tensor<4x4xf32> {cs336.kind = "derived", cs336.name = "[[SIN:[^"]+]]"})
// CHECK-NOT: f64
// CHECK: @prepare() -> (tensor<4x4xf32> {cs336.kind = "derived", cs336.name = "[[COS]]"}, tensor<4x4xf32> {cs336.kind = "derived", cs336.name = "[[SIN]]"}) attributes {cs336.mode = #cs336.mode<prepare>}
// CHECK: cs336.pow
// CHECK-NEXT: %[[ANGLE:.*]] = cs336.mul %{{.*}}, %{{.*}} : tensor<4x4xf64>
// CHECK-DAG: cs336.cos %[[ANGLE]]
// CHECK-DAG: cs336.sin %[[ANGLE]]
func.func @forward(%q: tensor<2x4x8xf32> {cs336.kind = "input", cs336.name = "q"}, %k: tensor<2x4x8xf32> {cs336.kind = "input", cs336.name = "k"})
    -> (tensor<2x4x8xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<2x4x8xf32> {cs336.kind = "output", cs336.name = "b"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %0 = cs336.rope %q theta = 1.0e+04 : tensor<2x4x8xf32>
  %1 = cs336.rope %k theta = 1.0e+04 : tensor<2x4x8xf32>
  return %0, %1 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}
