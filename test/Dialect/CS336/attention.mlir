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
