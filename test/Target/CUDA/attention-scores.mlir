// The score function of an attention becomes a structure of its problem. Distances say which tiles are skipped and which need no mask.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// A window hides keys and nothing else: the scale follows it, and inside it scores stay as they are.
// CHECK: struct window_problem {
// CHECK: struct Score {
// CHECK-NEXT: static constexpr bool exists = true, onlyHides = true, returnsDerivative = false;
// CHECK-NEXT: static constexpr int firstDistance = 0, lastDistance = 127;
// CHECK-NEXT: static constexpr int firstInterior = 0, lastInterior = 127;
// CHECK-NEXT: static constexpr bool interiorIsScore = true, interiorIsGeneral = false;
// CHECK-NEXT: __device__ float compute(float score, int batch, int head, int query, int key) const {
// CHECK-NEXT: const int difference0 = query - key;
// CHECK-NEXT: return difference0 >= 0 && difference0 <= 127 ? score : -infinity();
// CHECK-NEXT: }
// CHECK-NEXT: };
// CHECK: AttentionForward<window_problem,
// CHECK: Attention::run(in0, in1, in2, out0, out1, {});
exec.kernel @window(%q: tensor<1x1024x4x64xbf16>, %k: tensor<1x1024x4x64xbf16>, %v: tensor<1x1024x4x64xbf16>)
    : (memref<1x1024x4x64xbf16>, memref<1x1024x4x64xbf16>, memref<1x1024x4x64xbf16>)
    -> (memref<1x1024x4x64xbf16>, memref<1x4x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<1x1024x4x64xbf16>, tensor<1x1024x4x64xbf16> -> tensor<1x4x1024xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %distance = cs336.sub %i, %j : tensor<i32>
    %zero = cs336.constant dense<0> : tensor<i32>
    %last = cs336.constant dense<127> : tensor<i32>
    %seen = cs336.compare ge %distance, %zero : tensor<i32>
    %near = cs336.compare le %distance, %last : tensor<i32>
    %visible = cs336.and %seen, %near : tensor<i1>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x1024x4x64xbf16>, tensor<1x4x1024xf32>
}

// A soft cap, documents and an offset of query positions, in the gradient. Where the offset hides nothing, the other two are left.
// CHECK: struct gradient_problem {
// CHECK: struct Score {
// CHECK-NEXT: static constexpr bool exists = true, onlyHides = false, returnsDerivative = true;
// CHECK-NEXT: static constexpr int firstDistance = -64, lastDistance = 191;
// CHECK-NEXT: static constexpr int firstInterior = -64, lastInterior = 191;
// CHECK-NEXT: static constexpr bool interiorIsScore = false, interiorIsGeneral = false;
// CHECK-NEXT: const int *in6;
// CHECK-NEXT: __device__ float compute(float score, int batch, int head, int query, int key, float &derivative) const {
// CHECK-NEXT: const float tangent0 = approximateTanh(score);
// CHECK-NEXT: const bool holds1 = in6[batch * 256 + query] == in6[batch * 256 + key];
// CHECK-NEXT: const bool both2 = query + 64 >= key && holds1;
// CHECK-NEXT: derivative = both2 ? 1.0f - tangent0 * tangent0 : 0.0f;
// CHECK-NEXT: return both2 ? tangent0 : -infinity();
// CHECK: __device__ float computeInterior(float score, int batch, int head, int query, int key, float &derivative) const {
// CHECK: derivative = holds1 ? 1.0f - tangent0 * tangent0 : 0.0f;
// CHECK-NEXT: return holds1 ? tangent0 : -infinity();
// CHECK: Attention::run(in0, in1, in2, in3, in4, in5, out0, reinterpret_cast<float *>(workspace), {in6});
// CHECK: Attention::run(in0, in1, in2, in4, in5, out1, out2, reinterpret_cast<const float *>(workspace), {in6});
exec.kernel @gradient(%q: tensor<1x192x4x64xbf16>, %k: tensor<1x256x4x64xbf16>, %v: tensor<1x256x4x64xbf16>,
                      %o: tensor<1x192x4x64xbf16>, %l: tensor<1x4x192xf32>, %do: tensor<1x192x4x64xbf16>,
                      %ids: tensor<1x256xi32>)
    : (memref<1x192x4x64xbf16>, memref<1x256x4x64xbf16>, memref<1x256x4x64xbf16>, memref<1x192x4x64xbf16>,
       memref<1x4x192xf32>, memref<1x192x4x64xbf16>, memref<1x256xi32>)
    -> (memref<1x192x4x64xbf16>, memref<1x256x4x64xbf16>, memref<1x256x4x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64}
      : tensor<1x192x4x64xbf16>, tensor<1x256x4x64xbf16>, tensor<1x4x192xf32> score(%ids : tensor<1x256xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t: tensor<1x256xi32>):
    %tanh = cs336.tanh %s : tensor<f32>
    %own = cs336.element %t[%b, %i] : tensor<1x256xi32>
    %other = cs336.element %t[%b, %j] : tensor<1x256xi32>
    %same = cs336.compare eq %own, %other : tensor<i32>
    %offset = cs336.constant dense<64> : tensor<i32>
    %place = cs336.add %i, %offset : tensor<i32>
    %seen = cs336.compare ge %place, %j : tensor<i32>
    %visible = cs336.and %seen, %same : tensor<i1>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %tanh, %hidden : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %square = cs336.mul %tanh, %tanh : tensor<f32>
    %slope = cs336.sub %one, %square : tensor<f32>
    %zero = cs336.constant dense<0.0> : tensor<f32>
    %d = cs336.select %visible, %slope, %zero : tensor<f32>
    cs336.yield %r, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<1x192x4x64xbf16>, tensor<1x256x4x64xbf16>, tensor<1x256x4x64xbf16>
}

// The causal attribute hides negative distances. Only keys that a prefix shows depend on more than the distance.
// CHECK: struct causal_problem {
// CHECK: isCausal = true;
// CHECK: firstDistance = 0, lastDistance = 63;
// CHECK-NEXT: firstInterior = 0, lastInterior = 63;
// CHECK-NEXT: interiorIsScore = false, interiorIsGeneral = true;
// CHECK: query < 8 ? score : -infinity()
exec.kernel @causal(%q: tensor<1x64x1x64xbf16>) : (memref<1x64x1x64xbf16>) -> (memref<1x64x1x64xbf16>, memref<1x1x64xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal}
      : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x1x64xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %eight = cs336.constant dense<8> : tensor<i32>
    %early = cs336.compare lt %i, %eight : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %early, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x1x64xbf16>, tensor<1x1x64xf32>
}

// A bias by table, of distances up to 4. Most pairs are further apart: for them, the kernel reads one element of a row.
// CHECK: struct relative_problem {
// CHECK: firstDistance = 0, lastDistance = 63;
// CHECK-NEXT: firstInterior = 5, lastInterior = 63;
// CHECK-NEXT: interiorIsScore = false, interiorIsGeneral = false;
// CHECK: float compute(float score, int batch, int head, int query, int key) const {
// CHECK-NEXT: in1[(minimum(maximum(key - query, -4), 4) + 4) * 2 + head];
// CHECK: float computeInterior(float score, int batch, int head, int query, int key) const {
// CHECK-NEXT: return score + in1[0LL * 2 + head];
exec.kernel @relative(%q: tensor<1x64x2x64xbf16>, %t: tensor<9x2xf32>)
    : (memref<1x64x2x64xbf16>, memref<9x2xf32>) -> (memref<1x64x2x64xbf16>, memref<1x2x64xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal}
      : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16> -> tensor<1x2x64xf32> score(%t : tensor<9x2xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<9x2xf32>):
    %low = cs336.constant dense<-4> : tensor<i32>
    %high = cs336.constant dense<4> : tensor<i32>
    %distance = cs336.sub %j, %i : tensor<i32>
    %above = cs336.max %distance, %low : tensor<i32>
    %between = cs336.min %above, %high : tensor<i32>
    %row = cs336.add %between, %high : tensor<i32>
    %bias = cs336.element %t0[%row, %h] : tensor<9x2xf32>
    %r = cs336.add %s, %bias : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x2x64xbf16>, tensor<1x2x64xf32>
}

// Distances between two numbers: the interior is the part with more pairs, which here is the near one.
// CHECK: struct near_problem {
// CHECK: firstDistance = 0, lastDistance = 63;
// CHECK-NEXT: firstInterior = 0, lastInterior = 40;
// CHECK: float computeInterior(float score, int batch, int head, int query, int key) const {
// CHECK-NEXT: return score + static_cast<float>(query - key);
exec.kernel @near(%q: tensor<1x64x2x64xbf16>)
    : (memref<1x64x2x64xbf16>) -> (memref<1x64x2x64xbf16>, memref<1x2x64xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal}
      : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16> -> tensor<1x2x64xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %high = cs336.constant dense<40> : tensor<i32>
    %distance = cs336.sub %i, %j : tensor<i32>
    %near = cs336.min %distance, %high : tensor<i32>
    %bias = cs336.cast %near : tensor<i32> -> tensor<f32>
    %r = cs336.add %s, %bias : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x2x64xbf16>, tensor<1x2x64xf32>
}

// A comparison of a clamped distance hides pairs: those at distances 10 and more. The minimum of query and 5 is not a
// distance.
// CHECK: struct clamped_problem {
// CHECK: firstDistance = 0, lastDistance = 9;
// CHECK-NEXT: firstInterior = 0, lastInterior = 9;
// CHECK: float computeInterior(float score, int batch, int head, int query, int key) const {
// CHECK-NEXT: return score + static_cast<float>(minimum(query, 5));
exec.kernel @clamped(%q: tensor<1x64x2x64xbf16>)
    : (memref<1x64x2x64xbf16>) -> (memref<1x64x2x64xbf16>, memref<1x2x64xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 1.0 : f64, causal}
      : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16> -> tensor<1x2x64xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %five = cs336.constant dense<5> : tensor<i32>
    %ten = cs336.constant dense<10> : tensor<i32>
    %distance = cs336.sub %i, %j : tensor<i32>
    %clamped = cs336.min %distance, %ten : tensor<i32>
    %seen = cs336.compare lt %clamped, %ten : tensor<i32>
    %early = cs336.min %i, %five : tensor<i32>
    %number = cs336.cast %early : tensor<i32> -> tensor<f32>
    %sum = cs336.add %s, %number : tensor<f32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %seen, %sum, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x64x2x64xbf16>, tensor<1x2x64xf32>
}
