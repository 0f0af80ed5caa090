// Tables and numbers of a score function may have other types than the operands: the text then includes the headers of all these types.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s --check-prefix=NUMBERS
// REQUIRES: nvrtc
// RUN: cs336-translate --emit-cuda --require-all %s | cs336-nvrtc-check --arch sm_80,sm_90a | FileCheck %s --check-prefix=COMPILED
// COMPILED-DAG: table
// COMPILED-DAG: numbers

// CHECK-DAG: #include <cuda_bf16.h>
// CHECK-DAG: #include <cuda_fp16.h>
// CHECK: struct table_problem {
// CHECK: const __nv_bfloat16 *in3;
exec.kernel @table(%q: tensor<1x64x2x16xf32>, %k: tensor<1x64x2x16xf32>, %v: tensor<1x64x2x16xf32>, %bias: tensor<64x64xbf16>)
    : (memref<1x64x2x16xf32>, memref<1x64x2x16xf32>, memref<1x64x2x16xf32>, memref<64x64xbf16>)
    -> (memref<1x64x2x16xf32>, memref<1x2x64xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.25 : f64}
      : tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32> -> tensor<1x2x64xf32> score(%bias : tensor<64x64xbf16>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t: tensor<64x64xbf16>):
    %e = cs336.element %t[%i, %j] : tensor<64x64xbf16>
    %f = cs336.cast %e : tensor<bf16> -> tensor<f32>
    %r = cs336.add %s, %f : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x2x16xf32>, tensor<1x2x64xf32>
}

// NUMBERS: struct numbers_problem {
// NUMBERS: roundToF16(
exec.kernel @numbers(%q: tensor<1x64x2x16xf32>, %k: tensor<1x64x2x16xf32>, %v: tensor<1x64x2x16xf32>)
    : (memref<1x64x2x16xf32>, memref<1x64x2x16xf32>, memref<1x64x2x16xf32>) -> (memref<1x64x2x16xf32>, memref<1x2x64xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.25 : f64}
      : tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32> -> tensor<1x2x64xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %n = cs336.cast %j : tensor<i32> -> tensor<f16>
    %tenth = cs336.constant dense<0.1> : tensor<f16>
    %m = cs336.mul %n, %tenth : tensor<f16>
    %f = cs336.cast %m : tensor<f16> -> tensor<f32>
    %r = cs336.add %s, %f : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x2x16xf32>, tensor<1x2x64xf32>
}
