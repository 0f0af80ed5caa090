// Quotients in score functions whose divisor is a constant.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// A division by a constant becomes a multiplication, because the result is rounded to 16 bits in the end.
// CHECK: struct divided_problem {
// CHECK: return (score + 1.0f) * 0.033333335f;
exec.kernel @divided(%q: tensor<1x64x2x64xbf16>)
    : (memref<1x64x2x64xbf16>) -> (memref<1x64x2x64xbf16>, memref<1x2x64xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal}
      : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16> -> tensor<1x2x64xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %one = cs336.constant dense<1.0> : tensor<f32>
    %thirty = cs336.constant dense<30.0> : tensor<f32>
    %sum = cs336.add %s, %one : tensor<f32>
    %r = cs336.div %sum, %thirty : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x2x64xbf16>, tensor<1x2x64xf32>
}

// Without this rounding, it stays a division, as does one by a number whose reciprocal is not a normal number.
// CHECK: struct exact_problem {
// CHECK: return (score + 1.0f) / 30.0f;
exec.kernel @exact(%q: tensor<1x64x2x64xf32>)
    : (memref<1x64x2x64xf32>) -> (memref<1x64x2x64xf32>, memref<1x2x64xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal}
      : tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32> -> tensor<1x2x64xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %one = cs336.constant dense<1.0> : tensor<f32>
    %thirty = cs336.constant dense<30.0> : tensor<f32>
    %sum = cs336.add %s, %one : tensor<f32>
    %r = cs336.div %sum, %thirty : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x2x64xf32>, tensor<1x2x64xf32>
}
// CHECK: struct tiny_problem {
// CHECK: return (score + 1.0f) / 2e+38f;
exec.kernel @tiny(%q: tensor<1x64x2x16xbf16>)
    : (memref<1x64x2x16xbf16>) -> (memref<1x64x2x16xbf16>, memref<1x2x64xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal}
      : tensor<1x64x2x16xbf16>, tensor<1x64x2x16xbf16> -> tensor<1x2x64xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %one = cs336.constant dense<1.0> : tensor<f32>
    %huge = cs336.constant dense<2.0e38> : tensor<f32>
    %sum = cs336.add %s, %one : tensor<f32>
    %r = cs336.div %sum, %huge : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x2x16xbf16>, tensor<1x2x64xf32>
}
