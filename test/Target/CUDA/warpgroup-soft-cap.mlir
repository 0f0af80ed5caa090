// Soft caps of scores: kernels on sm_90a compute them together with the exponential if this is all that changes visible
// scores.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

module attributes {exec.architectures = ["sm_90a"]} {
// Three warpgroups have registers for 128 keys.
// CHECK: struct causal_problem {
// CHECK: return approximateTanh(score * 0.033333335f) * 30.0f;
// CHECK: static constexpr float softCap = 30.0f, capSlope = 0.033333335f;
// CHECK: using Attention = WarpgroupAttentionForward<causal_problem, causal_wgmma, 3, 128, 2, 2>;
exec.kernel @causal(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>) -> (memref<1x4096x16x64xbf16>, memref<1x16x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16> -> tensor<1x16x4096xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %cap = cs336.constant dense<30.0> : tensor<f32>
    %ratio = cs336.div %s, %cap : tensor<f32>
    %tanh = cs336.tanh %ratio : tensor<f32>
    %r = cs336.mul %tanh, %cap : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32>
}

// A window hides the other pairs.
// CHECK: struct window_problem {
// CHECK: static constexpr int firstInterior = 0, lastInterior = 1000;
// CHECK: static constexpr float softCap = 50.0f, capSlope = 1.0f;
// CHECK: using Attention = WarpgroupAttentionForward<window_problem, window_wgmma, 2, 128, 2, 2>;
exec.kernel @window(%q: tensor<1x4096x2x128xbf16>, %k: tensor<1x4096x2x128xbf16>, %v: tensor<1x4096x2x128xbf16>)
    : (memref<1x4096x2x128xbf16>, memref<1x4096x2x128xbf16>, memref<1x4096x2x128xbf16>) -> (memref<1x4096x2x128xbf16>, memref<1x2x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.002 : f64, causal}
      : tensor<1x4096x2x128xbf16>, tensor<1x4096x2x128xbf16> -> tensor<1x2x4096xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %cap = cs336.constant dense<50.0> : tensor<f32>
    %tanh = cs336.tanh %s : tensor<f32>
    %capped = cs336.mul %cap, %tanh : tensor<f32>
    %distance = cs336.sub %i, %j : tensor<i32>
    %last = cs336.constant dense<1000> : tensor<i32>
    %near = cs336.compare le %distance, %last : tensor<i32>
    %infinity = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %near, %capped, %infinity : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x4096x2x128xbf16>, tensor<1x2x4096xf32>
}

// Numerators would not be in the range of bf16.
// CHECK: struct large_problem {
// CHECK-NOT: softCap
// CHECK: using Attention = WarpgroupAttentionForward<large_problem, large_wgmma, 3, 96, 2, 2>;
exec.kernel @large(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>) -> (memref<1x4096x16x64xbf16>, memref<1x16x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16> -> tensor<1x16x4096xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %cap = cs336.constant dense<54.0> : tensor<f32>
    %ratio = cs336.div %s, %cap : tensor<f32>
    %tanh = cs336.tanh %ratio : tensor<f32>
    %r = cs336.mul %tanh, %cap : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32>
}

// Numbers of 16 bits with a smaller range.
// CHECK: struct narrow_problem {
// CHECK-NOT: softCap
// CHECK: using Attention = WarpgroupAttentionForward<narrow_problem, narrow_wgmma, 2, 128, 2, 2>;
exec.kernel @narrow(%q: tensor<1x1024x2x64xf16>, %k: tensor<1x1024x2x64xf16>, %v: tensor<1x1024x2x64xf16>)
    : (memref<1x1024x2x64xf16>, memref<1x1024x2x64xf16>, memref<1x1024x2x64xf16>) -> (memref<1x1024x2x64xf16>, memref<1x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x1024x2x64xf16>, tensor<1x1024x2x64xf16> -> tensor<1x2x1024xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %cap = cs336.constant dense<30.0> : tensor<f32>
    %tanh = cs336.tanh %s : tensor<f32>
    %r = cs336.mul %tanh, %cap : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x1024x2x64xf16>, tensor<1x2x1024xf32>
}

// Capped scores plus a bias are not capped.
// CHECK: struct bias_problem {
// CHECK-NOT: softCap
// CHECK: using Attention = WarpgroupAttentionForward<bias_problem, bias_wgmma, 2, 128, 2, 2>;
exec.kernel @bias(%q: tensor<1x1024x2x64xbf16>, %k: tensor<1x1024x2x64xbf16>, %v: tensor<1x1024x2x64xbf16>)
    : (memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>) -> (memref<1x1024x2x64xbf16>, memref<1x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16> -> tensor<1x2x1024xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %cap = cs336.constant dense<30.0> : tensor<f32>
    %tanh = cs336.tanh %s : tensor<f32>
    %capped = cs336.mul %tanh, %cap : tensor<f32>
    %number = cs336.cast %j : tensor<i32> -> tensor<f32>
    %r = cs336.add %capped, %number : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>
}

// A negative cap.
// CHECK: struct negative_problem {
// CHECK-NOT: softCap
// CHECK: using Attention = WarpgroupAttentionForward<negative_problem, negative_wgmma, 2, 128, 2, 2>;
exec.kernel @negative(%q: tensor<1x1024x2x64xbf16>, %k: tensor<1x1024x2x64xbf16>, %v: tensor<1x1024x2x64xbf16>)
    : (memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>) -> (memref<1x1024x2x64xbf16>, memref<1x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16> -> tensor<1x2x1024xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %cap = cs336.constant dense<-30.0> : tensor<f32>
    %tanh = cs336.tanh %s : tensor<f32>
    %r = cs336.mul %tanh, %cap : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>
}

// The fifth power of the slope would be too small for a constant in f32 that hidden pairs multiply by ∞.
// CHECK: struct faint_problem {
// CHECK-NOT: softCap
// CHECK: using Attention = WarpgroupAttentionForward<faint_problem, faint_wgmma, 2, 128, 2, 2>;
exec.kernel @faint(%q: tensor<1x1024x2x64xbf16>, %k: tensor<1x1024x2x64xbf16>, %v: tensor<1x1024x2x64xbf16>)
    : (memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>) -> (memref<1x1024x2x64xbf16>, memref<1x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 9.0e-07 : f64}
      : tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16> -> tensor<1x2x1024xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %cap = cs336.constant dense<30.0> : tensor<f32>
    %tanh = cs336.tanh %s : tensor<f32>
    %r = cs336.mul %tanh, %cap : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>
}

// So would the cap.
// CHECK: struct flat_problem {
// CHECK-NOT: softCap
// CHECK: using Attention = WarpgroupAttentionForward<flat_problem, flat_wgmma, 2, 128, 2, 2>;
exec.kernel @flat(%q: tensor<1x1024x2x64xbf16>, %k: tensor<1x1024x2x64xbf16>, %v: tensor<1x1024x2x64xbf16>)
    : (memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>) -> (memref<1x1024x2x64xbf16>, memref<1x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16> -> tensor<1x2x1024xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %cap = cs336.constant dense<1.5e-05> : tensor<f32>
    %tanh = cs336.tanh %s : tensor<f32>
    %r = cs336.mul %tanh, %cap : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>
}
}
