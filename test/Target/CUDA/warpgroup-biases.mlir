// Score functions that add a bias which is linear in query and key: kernels on sm_90a add it in steps, or by a matmul.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// With 2048 positions and enough heads, three warpgroups compute a function of single pairs too.
// RUN: sed 's/1x4096x16x64/8x2048x16x64/g; s/1x16x4096/8x16x2048/g' %s | cs336-translate --emit-cuda --require-all - \
// RUN:   | FileCheck %s --check-prefix=SHORT
// SHORT: using Attention = WarpgroupAttentionForward<far_problem, far_wgmma, 3, 96,

module attributes {exec.architectures = ["sm_90a"]} {
// A slope by head, and numbers: the steps of the query and of the key are opposite. All visible pairs are interior, so
// that a matmul adds the steps, and three warpgroups have registers for 128 keys.
// CHECK: struct slopes_problem {
// CHECK: static constexpr bool biasHasSteps = true, biasIsOfDistance = true;
// CHECK-NEXT: __device__ BiasSteps getBiasSteps(int batch, int head) const { return {-2.0f * in3[head], 2.0f * in3[head]}; }
// CHECK-NEXT: static constexpr bool multipliesSteps = true;
// CHECK: using Attention = WarpgroupAttentionForward<slopes_problem, slopes_wgmma, 3, 128, 2, 2>;
exec.kernel @slopes(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>, %slopes: tensor<16xf32>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<16xf32>) -> (memref<1x4096x16x64xbf16>, memref<1x16x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16> -> tensor<1x16x4096xf32> score(%slopes : tensor<16xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t: tensor<16xf32>):
    %slope = cs336.element %t[%h] : tensor<16xf32>
    %distance = cs336.sub %j, %i : tensor<i32>
    %two = cs336.constant dense<2> : tensor<i32>
    %double = cs336.mul %distance, %two : tensor<i32>
    %number = cs336.cast %double : tensor<i32> -> tensor<f32>
    %bias = cs336.mul %slope, %number : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %more = cs336.add %bias, %one : tensor<f32>
    %r = cs336.add %s, %more : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32>
}

// Wide heads have registers for fewer keys.
// CHECK: using Attention = WarpgroupAttentionForward<wide_slopes_problem, wide_slopes_wgmma, 3, 112, 2, 1, 30>;
exec.kernel @wide_slopes(%q: tensor<1x2048x40x80xbf16>, %k: tensor<1x2048x40x80xbf16>, %v: tensor<1x2048x40x80xbf16>, %slopes: tensor<40xf32>)
    : (memref<1x2048x40x80xbf16>, memref<1x2048x40x80xbf16>, memref<1x2048x40x80xbf16>, memref<40xf32>) -> (memref<1x2048x40x80xbf16>, memref<1x40x2048xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x2048x40x80xbf16>, tensor<1x2048x40x80xbf16> -> tensor<1x40x2048xf32> score(%slopes : tensor<40xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t: tensor<40xf32>):
    %slope = cs336.element %t[%h] : tensor<40xf32>
    %distance = cs336.sub %j, %i : tensor<i32>
    %two = cs336.constant dense<2> : tensor<i32>
    %double = cs336.mul %distance, %two : tensor<i32>
    %number = cs336.cast %double : tensor<i32> -> tensor<f32>
    %bias = cs336.mul %slope, %number : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %more = cs336.add %bias, %one : tensor<f32>
    %r = cs336.add %s, %more : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x2048x40x80xbf16>, tensor<1x40x2048xf32>
}

// A number by head and by the distance up to 128: for far pairs it is one element of the table. Near pairs are computed
// one by one.
// CHECK: struct far_problem {
// CHECK: static constexpr bool biasHasSteps = false, biasIsOfDistance = true;
// CHECK-NEXT: __device__ BiasSteps getBiasSteps(int batch, int head) const { return {0.0f, 0.0f}; }
// CHECK-NEXT: };
// CHECK: using Attention = WarpgroupAttentionForward<far_problem, far_wgmma, 3, 96, 2, 2>;
exec.kernel @far(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>, %biases: tensor<129x16xf32>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<129x16xf32>) -> (memref<1x4096x16x64xbf16>, memref<1x16x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16> -> tensor<1x16x4096xf32> score(%biases : tensor<129x16xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t: tensor<129x16xf32>):
    %none = cs336.constant dense<0> : tensor<i32>
    %reach = cs336.constant dense<128> : tensor<i32>
    %distance = cs336.sub %i, %j : tensor<i32>
    %ahead = cs336.max %distance, %none : tensor<i32>
    %near = cs336.min %ahead, %reach : tensor<i32>
    %bias = cs336.element %t[%near, %h] : tensor<129x16xf32>
    %r = cs336.add %s, %bias : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32>
}

// Steps of the key alone, and a bias that is not linear.
// CHECK: struct key_problem {
// CHECK: static constexpr bool biasHasSteps = true, biasIsOfDistance = false;
// CHECK-NEXT: __device__ BiasSteps getBiasSteps(int batch, int head) const { return {0.0f, 0.5f}; }
exec.kernel @key(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>) -> (memref<1x4096x16x64xbf16>, memref<1x16x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16> -> tensor<1x16x4096xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %number = cs336.cast %j : tensor<i32> -> tensor<f32>
    %half = cs336.constant dense<0.5> : tensor<f32>
    %bias = cs336.mul %half, %number : tensor<f32>
    %r = cs336.add %bias, %s : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32>
}

// CHECK: struct square_problem {
// CHECK-NOT: getBiasSteps
// CHECK: using Attention = WarpgroupAttentionForward<square_problem, square_wgmma, 3, 96, 2, 2>;
exec.kernel @square(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>) -> (memref<1x4096x16x64xbf16>, memref<1x16x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16> -> tensor<1x16x4096xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %number = cs336.cast %j : tensor<i32> -> tensor<f32>
    %square = cs336.mul %number, %number : tensor<f32>
    %r = cs336.sub %s, %square : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32>
}
}
