// Attention and its gradient become instances of templates, with sizes and strides as constants.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// The files of the device library that both need, and those of the types and functions at hand.
// CHECK: class AttentionForward {
// CHECK: class AttentionBackwardKeys {

// CHECK: //===- causal -===//
// CHECK: // Computes cs336.attention.
// CHECK-NEXT: // Schedule attention: 64 queries per block of 4 warps, keys in tiles of 64, by tensor cores.
// CHECK-NEXT: // Grid of 192 blocks of 128 threads with 40960 bytes of shared memory.
// CHECK: struct causal_problem {
// CHECK-NEXT: static constexpr int batches = 4, queryHeads = 12, keyHeads = 12;
// CHECK-NEXT: static constexpr int queries = 256, keys = 256, headDim = 64;
// CHECK-NEXT: static constexpr float scale = 0.125f;
// CHECK-NEXT: static constexpr bool isCausal = true;
// CHECK: using QueryLayout = HeadLayout<196608, 768, 64, 16>;
// CHECK: using LogSumExpLayout = HeadLayout<3072, 1, 256, 4>;
// CHECK: extern "C" __global__ void __launch_bounds__(128)
// CHECK-NEXT: causal(const __nv_bfloat16 *in0, const __nv_bfloat16 *in1, const __nv_bfloat16 *in2, __nv_bfloat16 *out0, float *out1) {
// CHECK-NEXT: using Attention = AttentionForward<causal_problem, TensorCoreRowBlock<__nv_bfloat16, 1>, 4, 64, 2, true>;
// CHECK-NEXT: static_assert(Attention::blocks == 192 && Attention::sharedBytes == 40960);
// CHECK-NEXT: Attention::run(in0, in1, in2, out0, out1);
exec.kernel @causal(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
    : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>)
    -> (memref<4x256x12x64xbf16>, memref<4x12x256xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16> -> tensor<4x12x256xf32>
  exec.yield %o, %l : tensor<4x256x12x64xbf16>, tensor<4x12x256xf32>
}

// Two functions that share a workspace, in which the first leaves the sums of P ∘ dP for the second.
// CHECK: //===- gradient -===//
// CHECK: // Schedule attention: 64 queries per block of 4 warps, keys in tiles of 64, by tensor cores; then 64 keys per block of 4 warps, queries in tiles of 64, by tensor cores.
// CHECK-NEXT: // Grid of 192 blocks of 128 threads with 49152 bytes of shared memory, then 192 blocks of 128 threads with 50176 bytes of shared memory; a workspace of 49152 bytes.
// CHECK: using OutputGradientLayout = HeadLayout<196608, 768, 64, 16>;
// CHECK: gradient_queries(const __nv_bfloat16 *in0,
// CHECK: using Attention = AttentionBackwardQueries<gradient_problem, TensorCoreRowBlock<__nv_bfloat16, 1>, 4, 64, 2, true>;
// CHECK-NEXT: static_assert(Attention::blocks == 192 && Attention::sharedBytes == 49152);
// CHECK-NEXT: Attention::run(in0, in1, in2, in3, in4, in5, out0, reinterpret_cast<float *>(workspace));
// CHECK: gradient_keys(const __nv_bfloat16 *in0,
// CHECK: using Attention = AttentionBackwardKeys<gradient_problem, TensorCoreRowBlock<__nv_bfloat16, 1>, 4, 64, 2, false, 1>;
// CHECK: Attention::run(in0, in1, in2, in4, in5, out1, out2, reinterpret_cast<const float *>(workspace));
exec.kernel @gradient(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>,
                      %o: tensor<4x256x12x64xbf16>, %l: tensor<4x12x256xf32>, %do: tensor<4x256x12x64xbf16>)
    : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>,
       memref<4x12x256xf32>, memref<4x256x12x64xbf16>)
    -> (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16>, tensor<4x12x256xf32>
  exec.yield %dq, %dk, %dv : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16>
}

// Many blocks: larger tiles.
// CHECK: //===- long_gradient -===//
// CHECK: // Schedule attention: 128 queries per block of 4 warps, keys in tiles of 64, by tensor cores; then 128 keys per block of 4 warps, queries in tiles of 32, by tensor cores.
// CHECK-NEXT: // Grid of 512 blocks of 128 threads with 65536 bytes of shared memory, then 512 blocks of 128 threads with 49664 bytes of shared memory; a workspace of 262144 bytes.
// CHECK: long_gradient_queries(
// CHECK: unsigned char *workspace) {
// CHECK-NEXT: AttentionBackwardQueries<long_gradient_problem, TensorCoreRowBlock<__nv_bfloat16, 2>, 4, 64, 2, false>;
// CHECK: Attention::run(in0, in1, in2, in3, in4, in5, out0, reinterpret_cast<float *>(workspace));
// CHECK: long_gradient_keys(
// CHECK: AttentionBackwardKeys<long_gradient_problem, TensorCoreRowBlock<__nv_bfloat16, 2>, 4, 32, 2, false, 1>;
// CHECK: Attention::run(in0, in1, in2, in4, in5, out1, out2, reinterpret_cast<const float *>(workspace));
exec.kernel @long_gradient(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>,
                           %o: tensor<1x4096x16x64xbf16>, %l: tensor<1x16x4096xf32>, %do: tensor<1x4096x16x64xbf16>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>,
       memref<1x16x4096xf32>, memref<1x4096x16x64xbf16>)
    -> (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32>
  exec.yield %dq, %dk, %dv : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>
}

// Queries, keys and values that lie in one buffer, grouped heads, and unused sums. Many blocks have large
// tiles.
// CHECK: //===- packed -===//
// CHECK: // Schedule attention: 128 queries per block of 4 warps, keys in tiles of 64, by tensor cores.
// CHECK: batches = 8, queryHeads = 16, keyHeads = 4;
// CHECK: isCausal = false;
// CHECK: using QueryLayout = HeadLayout<1966080, 1920, 80, 16>;
// CHECK: using KeyLayout = HeadLayout<1966080, 1920, 80, 16>;
// CHECK: using OutputLayout = HeadLayout<1310720, 1280, 80, 16>;
// CHECK: TensorCoreRowBlock<__half, 2>
// CHECK: Attention::run(in0, in1, in2, out0, nullptr);
exec.kernel @packed(%q: tensor<8x1024x16x80xf16>, %k: tensor<8x1024x4x80xf16>, %v: tensor<8x1024x4x80xf16>)
    : (memref<8x1024x16x80xf16, strided<[1966080, 1920, 80, 1]>>, memref<8x1024x4x80xf16, strided<[1966080, 1920, 80, 1]>>,
       memref<8x1024x4x80xf16, strided<[1966080, 1920, 80, 1]>>) -> memref<8x1024x16x80xf16> {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.1 : f64}
      : tensor<8x1024x16x80xf16>, tensor<8x1024x4x80xf16> -> tensor<8x16x1024xf32>
  exec.yield %o : tensor<8x1024x16x80xf16>
}

// Views that begin anywhere and rows of odd strides are read in smaller parts.
// CHECK: //===- shifted -===//
// CHECK: using QueryLayout = HeadLayout<1040, 65, 0, 2>;
// CHECK: using KeyLayout = HeadLayout<1024, 64, 64, 8>;
exec.kernel @shifted(%q: tensor<2x16x1x64xbf16>, %k: tensor<2x16x1x64xbf16>, %v: tensor<2x16x1x64xbf16>)
    : (memref<2x16x1x64xbf16, strided<[1040, 65, 0, 1]>>, memref<2x16x1x64xbf16>, memref<2x16x1x64xbf16>)
    -> (memref<2x16x1x64xbf16>, memref<2x1x16xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<2x16x1x64xbf16>, tensor<2x16x1x64xbf16> -> tensor<2x1x16xf32>
  exec.yield %o, %l : tensor<2x16x1x64xbf16>, tensor<2x1x16xf32>
}
exec.entry @forward mode<forward> {
  %w = exec.input "w" : memref<2080xbf16>
  %x = exec.input "x" : memref<4096xbf16>
  %o = exec.output "o" output : memref<2x16x1x64xbf16>
  %l = exec.output "l" output : memref<2x1x16xf32>
  %q = exec.view %w : memref<2080xbf16> to memref<2x16x1x64xbf16, strided<[1040, 65, 0, 1]>>
  %k = exec.view %x : memref<4096xbf16> to memref<2x16x1x64xbf16, strided<[1024, 64, 64, 1], offset: 4>>
  exec.launch @shifted ins(%q, %k, %k : memref<2x16x1x64xbf16, strided<[1040, 65, 0, 1]>>, memref<2x16x1x64xbf16, strided<[1024, 64, 64, 1], offset: 4>>, memref<2x16x1x64xbf16, strided<[1024, 64, 64, 1], offset: 4>>) outs(%o, %l : memref<2x16x1x64xbf16>, memref<2x1x16xf32>)
}

// CHECK: //===- precise -===//
// CHECK: by fused multiply-adds
// CHECK: FmaRowBlock<2>
exec.kernel @precise(%q: tensor<1x33x2x256xf32>, %k: tensor<1x33x2x256xf32>, %v: tensor<1x33x2x256xf32>)
    : (memref<1x33x2x256xf32>, memref<1x33x2x256xf32>, memref<1x33x2x256xf32>)
    -> (memref<1x33x2x256xf32>, memref<1x2x33xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.0625 : f64}
      : tensor<1x33x2x256xf32>, tensor<1x33x2x256xf32> -> tensor<1x2x33xf32>
  exec.yield %o, %l : tensor<1x33x2x256xf32>, tensor<1x2x33xf32>
}

// float32 goes to the tensor cores only where its products may be of tf32.
// CHECK: //===- rounded -===//
// CHECK: by tensor cores in tf32
// CHECK: TensorFloatRowBlock<1>
exec.kernel @rounded(%q: tensor<1x33x2x64xf32>, %k: tensor<1x33x2x64xf32>, %v: tensor<1x33x2x64xf32>)
    : (memref<1x33x2x64xf32>, memref<1x33x2x64xf32>, memref<1x33x2x64xf32>)
    -> (memref<1x33x2x64xf32>, memref<1x2x33xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, precision = #cs336.precision<tf32>}
      : tensor<1x33x2x64xf32>, tensor<1x33x2x64xf32> -> tensor<1x2x33xf32>
  exec.yield %o, %l : tensor<1x33x2x64xf32>, tensor<1x2x33xf32>
}
