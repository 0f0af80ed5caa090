// Attention and its gradient print what they parse.

// RUN: cs336-opt %s --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --mlir-print-debuginfo=false | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --mlir-print-op-generic | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --emit-bytecode | cs336-opt --mlir-print-debuginfo=false | FileCheck %s

// CHECK-LABEL: @causal
func.func @causal(%q: tensor<2x32x4x16xf32>, %k: tensor<2x32x4x16xf32>, %v: tensor<2x32x4x16xf32>) -> tensor<2x32x4x16xf32> {
  // CHECK: cs336.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, scale = 2.500000e-01 : f64} : tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32> -> tensor<2x4x32xf32>
  %o, %lse = cs336.attention %q, %k, %v {scale = 2.5e-01 : f64, causal} : tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32> -> tensor<2x4x32xf32>
  return %o : tensor<2x32x4x16xf32>
}

// Grouped heads, another number of keys, a low type with sums in float32.
// CHECK-LABEL: @cross
func.func @cross(%q: tensor<2x5x4x16xbf16>, %k: tensor<2x7x2x16xbf16>, %v: tensor<2x7x2x16xbf16>, %do: tensor<2x5x4x16xbf16>) {
  // CHECK: cs336.attention %{{.*}} {scale = 1.000000e+00 : f64} : tensor<2x5x4x16xbf16>, tensor<2x7x2x16xbf16> -> tensor<2x4x5xf32>
  %o, %lse = cs336.attention %q, %k, %v {scale = 1.0 : f64} : tensor<2x5x4x16xbf16>, tensor<2x7x2x16xbf16> -> tensor<2x4x5xf32>
  // CHECK: cs336.attention_backward %{{.*}} {scale = 1.000000e+00 : f64} : tensor<2x5x4x16xbf16>, tensor<2x7x2x16xbf16>, tensor<2x4x5xf32>
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %lse, %do {scale = 1.0 : f64}
      : tensor<2x5x4x16xbf16>, tensor<2x7x2x16xbf16>, tensor<2x4x5xf32>
  return
}

// CHECK-LABEL: @precision
func.func @precision(%q: tensor<1x5x1x8xf32>) {
  // CHECK: cs336.attention %{{.*}} {precision = #cs336.precision<tf32>, scale = 1.000000e+00 : f64}
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64, precision = #cs336.precision<tf32>} : tensor<1x5x1x8xf32>, tensor<1x5x1x8xf32> -> tensor<1x1x5xf32>
  return
}

// CHECK-LABEL: @double
func.func @double(%q: tensor<1x5x1x8xf64>) {
  // CHECK: cs336.attention {{.*}} -> tensor<1x1x5xf64>
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x1x8xf64>, tensor<1x5x1x8xf64> -> tensor<1x1x5xf64>
  return
}

// A score function reads tables. Its gradient yields the derivative too.
// CHECK-LABEL: @score
func.func @score(%q: tensor<2x5x4x16xbf16>, %do: tensor<2x5x4x16xbf16>, %slopes: tensor<4xf32>, %ids: tensor<2x5xi32>) {
  // CHECK: cs336.attention %{{.*}} {causal, scale = 1.000000e+00 : f64} : tensor<2x5x4x16xbf16>, tensor<2x5x4x16xbf16> -> tensor<2x4x5xf32> score(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<2x5xi32>) {
  // CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>, %[[B:.*]]: tensor<i32>, %[[H:.*]]: tensor<i32>, %[[I:.*]]: tensor<i32>, %{{.*}}: tensor<i32>, %[[T:.*]]: tensor<4xf32>, %[[IDS:.*]]: tensor<2x5xi32>):
  // CHECK-NEXT: %[[SLOPE:.*]] = cs336.element %[[T]][%[[H]]] : tensor<4xf32>
  // CHECK-NEXT: cs336.element %[[IDS]][%[[B]], %[[I]]] : tensor<2x5xi32>
  // CHECK-NEXT: %[[R:.*]] = cs336.mul %[[S]], %[[SLOPE]] : tensor<f32>
  // CHECK-NEXT: cs336.yield %[[R]] : tensor<f32>
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal} : tensor<2x5x4x16xbf16>, tensor<2x5x4x16xbf16> -> tensor<2x4x5xf32> score(%slopes, %ids : tensor<4xf32>, tensor<2x5xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t: tensor<4xf32>, %u: tensor<2x5xi32>):
    %slope = cs336.element %t[%h] : tensor<4xf32>
    %id = cs336.element %u[%b, %i] : tensor<2x5xi32>
    %r = cs336.mul %s, %slope : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  // CHECK: cs336.attention_backward %{{.*}} {scale = 1.000000e+00 : f64} : tensor<2x5x4x16xbf16>, tensor<2x5x4x16xbf16>, tensor<2x4x5xf32> score() {
  // CHECK: cs336.yield %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %o, %lse, %do {scale = 1.0 : f64}
      : tensor<2x5x4x16xbf16>, tensor<2x5x4x16xbf16>, tensor<2x4x5xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %one = cs336.constant dense<1.0> : tensor<f32>
    cs336.yield %s, %one : tensor<f32>, tensor<f32>
  }
  return
}
