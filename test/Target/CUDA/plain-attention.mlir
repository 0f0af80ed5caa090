// Attention for which there are no tiles: one warp per row, in the type of the computation.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// CHECK: struct PlainAttentionForward
// CHECK: struct PlainAttentionBackwardKeys

// CHECK: //===- long_heads -===//
// CHECK: // Schedule plain_attention: one query per warp, its keys one by one, in float.
// CHECK-NEXT: // Grid of 3 blocks of 128 threads.
// CHECK: struct long_heads_problem {
// CHECK: headDim = 264;
// CHECK: static constexpr float scale = 0.125f;
// CHECK: struct long_heads_elements {
// CHECK-NEXT: using Type = __nv_bfloat16;
// CHECK-NEXT: using Compute = float;
// CHECK-NEXT: load(Type x) { return __bfloat162float(x); }
// CHECK-NEXT: store(Compute x) { return __float2bfloat16_rn(x); }
// CHECK: long_heads(const __nv_bfloat16 *in0, __nv_bfloat16 *out0) {
// CHECK-NEXT: using Attention = PlainAttentionForward<long_heads_problem, long_heads_elements, 4>;
// CHECK-NEXT: static_assert(Attention::blocks == 3);
// CHECK-NEXT: Attention::run(in0, in0, in0, out0, nullptr);
exec.kernel @long_heads(%q: tensor<1x5x2x264xbf16>) : (memref<1x5x2x264xbf16>) -> memref<1x5x2x264xbf16> {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<1x5x2x264xbf16>, tensor<1x5x2x264xbf16> -> tensor<1x2x5xf32>
  exec.yield %o : tensor<1x5x2x264xbf16>
}

// Two functions, each of which computes the sums of dO ∘ O that it needs: there is no workspace.
// CHECK: //===- exact -===//
// CHECK: // Schedule plain_attention: one query per warp, its keys one by one; then one key per warp, its queries one by one, in double.
// CHECK-NEXT: // Grid of 2 blocks of 128 threads, then 1 block of 128 threads.
// CHECK: static constexpr double scale = 0.1;
// CHECK: exact_queries(
// CHECK: Attention::run(in0, in1, in1, in0, in2, in0, out0);
// CHECK: exact_keys(
// CHECK: PlainAttentionBackwardKeys<exact_problem, exact_elements, 4>;
// CHECK: Attention::run(in0, in1, in1, in0, in2, in0, out1, out2);
exec.kernel @exact(%q: tensor<1x4x2x8xf64>, %k: tensor<1x3x1x8xf64>, %l: tensor<1x2x4xf64>)
    : (memref<1x4x2x8xf64>, memref<1x3x1x8xf64>, memref<1x2x4xf64>)
    -> (memref<1x4x2x8xf64>, memref<1x3x1x8xf64>, memref<1x3x1x8xf64>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %k, %q, %l, %q {scale = 0.1 : f64, causal}
      : tensor<1x4x2x8xf64>, tensor<1x3x1x8xf64>, tensor<1x2x4xf64>
  exec.yield %dq, %dk, %dv : tensor<1x4x2x8xf64>, tensor<1x3x1x8xf64>, tensor<1x3x1x8xf64>
}
