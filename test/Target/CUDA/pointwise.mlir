// The text of pointwise kernels: what each thread computes, and how it reads and writes memory.
// RUN: cs336-translate --emit-cuda %s | FileCheck %s

// CHECK: // Computes cs336.broadcast, cs336.add.
// CHECK-NEXT: // Schedule pointwise: 4 consecutive elements per thread; 6144 = 96 x 64 points (i0, i1, …).
// CHECK-NEXT: // Grid of 6 blocks of 256 threads.
// CHECK: //   in1: memref<64xf32>
// CHECK: extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: add_broadcast(const float *in0, const float *in1, float *out0) {
// CHECK-NEXT:   const unsigned item = blockIdx.x * 256 + threadIdx.x;
// CHECK-NEXT:   if (item >= 1536)
// CHECK-NEXT:     return;
// CHECK-NEXT:   const unsigned i1 = item % 16 * 4;
// CHECK-NEXT:   const unsigned i0 = item / 16;
// CHECK-NEXT:   const Vector<float, 4> x0 = loadVector<4>(in0 + i0 * 64 + i1);
// CHECK-NEXT:   const Vector<float, 4> x1 = loadVector<4>(in1 + i1);
// CHECK-NEXT:   Vector<float, 4> y0;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int lane = 0; lane < 4; ++lane) {
// CHECK-NEXT:     y0[lane] = x0[lane] + x1[lane];
// CHECK-NEXT:   }
// CHECK-NEXT:   storeVector(out0 + i0 * 64 + i1, y0);
// CHECK-NEXT: }
exec.kernel @add_broadcast(%x: tensor<96x64xf32>, %bias: tensor<64xf32>)
    : (memref<96x64xf32>, memref<64xf32>) -> memref<96x64xf32> {
  %rows = cs336.broadcast %bias dims = [1] : tensor<64xf32> -> tensor<96x64xf32>
  %sum = cs336.add %x, %rows : tensor<96x64xf32>
  exec.yield %sum : tensor<96x64xf32>
}

// Contiguous operands are one row to a thread, whatever their rank.
// CHECK: silu_mul(const float *in0, const float *in1, float *out0) {
// CHECK: const unsigned i0 = item * 4;
// CHECK-NEXT: loadVector<4>(in0 + i0);
// CHECK: y0[lane] = x0[lane] * (1.0f / (expf(-x0[lane]) + 1.0f)) * x1[lane];
exec.kernel @silu_mul(%gate: tensor<3x32x128xf32>, %up: tensor<3x32x128xf32>)
    : (memref<3x32x128xf32>, memref<3x32x128xf32>) -> memref<3x32x128xf32> {
  %sigmoid = cs336.sigmoid %gate : tensor<3x32x128xf32>
  %silu = cs336.mul %gate, %sigmoid : tensor<3x32x128xf32>
  %product = cs336.mul %silu, %up : tensor<3x32x128xf32>
  exec.yield %product : tensor<3x32x128xf32>
}

// CHECK: causal_mask(
// CHECK: const unsigned i2 = item % 8 * 4;
// CHECK-NEXT: const unsigned i1 = item / 8 % 32;
// CHECK-NEXT: const unsigned i0 = item / 256;
// CHECK: y0[lane] = static_cast<int>(i1) >= static_cast<int>(i2 + lane) ? x0[lane] : -infinity();
exec.kernel @causal_mask(%scores: tensor<12x32x32xf32>) : (memref<12x32x32xf32>) -> memref<12x32x32xf32> {
  %query = cs336.iota axis = 1 : tensor<12x32x32xi32>
  %key = cs336.iota axis = 2 : tensor<12x32x32xi32>
  %visible = cs336.compare ge %query, %key : tensor<12x32x32xi32>
  %hidden = cs336.constant dense<0xFF800000> : tensor<12x32x32xf32>
  %masked = cs336.select %visible, %scores, %hidden : tensor<12x32x32xf32>
  exec.yield %masked : tensor<12x32x32xf32>
}

// CHECK: logic(const bool *in0, const bool *in1, bool *out0) {
// CHECK: y0[lane] = !(x0[lane] && x1[lane] || !x1[lane]);
exec.kernel @logic(%p: tensor<4x24xi1>, %q: tensor<4x24xi1>) : (memref<4x24xi1>, memref<4x24xi1>) -> memref<4x24xi1> {
  %both = cs336.and %p, %q : tensor<4x24xi1>
  %no = cs336.not %q : tensor<4x24xi1>
  %either = cs336.or %both, %no : tensor<4x24xi1>
  %neither = cs336.not %either : tensor<4x24xi1>
  exec.yield %neither : tensor<4x24xi1>
}

// Four floats are 16 bytes. Eight, as many as bf16 would need, would be loaded by two instructions with gaps.
// CHECK: cast_bf16(const float *in0, __nv_bfloat16 *out0) {
// CHECK: const Vector<float, 4> x0 = loadVector<4>(in0 + i0);
// CHECK-NEXT: Vector<__nv_bfloat16, 4> y0;
// CHECK: y0[lane] = __float2bfloat16_rn(x0[lane]);
exec.kernel @cast_bf16(%x: tensor<4x24xf32>) : (memref<4x24xf32>) -> memref<4x24xbf16> {
  %y = cs336.cast %x : tensor<4x24xf32> -> tensor<4x24xbf16>
  exec.yield %y : tensor<4x24xbf16>
}

// The gradient of rotary embedding: two concatenations of pairs, and a third part that is not one. A thread computes
// whole pairs, so that no element is chosen at run time. Even and odd elements share vectors.
// CHECK: turn_back(const float *in0, const __nv_bfloat16 *in1, const __nv_bfloat16 *in2, __nv_bfloat16 *out0) {
// CHECK-NEXT: const unsigned item = blockIdx.x * 256 + threadIdx.x;
// CHECK-NEXT: if (item >= 48)
// CHECK-NOT: inside
// CHECK: const Vector<float, 4> x0 = loadVector<4>(in0 + i1);
// CHECK-NEXT: const Vector<__nv_bfloat16, 8> x1 = loadVector<8>(in1 + i0 * 32 + i1 * 2);
// CHECK-NEXT: const Vector<__nv_bfloat16, 8> x2 = loadVector<8>(in2 + i0 * 32 + i1 * 2);
// CHECK-NEXT: Vector<__nv_bfloat16, 8> y0;
// CHECK-NEXT: Vector<__nv_bfloat16, 8> y1;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int lane = 0; lane < 4; ++lane) {
// CHECK-NEXT: y0[2 * lane] = __float2bfloat16_rn(__bfloat162float(x1[2 * lane]) * x0[lane]);
// CHECK-NEXT: y1[2 * lane] = __float2bfloat16_rn(__bfloat162float(x2[2 * lane]));
// CHECK-NEXT: y0[2 * lane + 1] = __float2bfloat16_rn(-__bfloat162float(x1[2 * lane + 1]));
// CHECK-NEXT: y1[2 * lane + 1] = __float2bfloat16_rn(__bfloat162float(x2[2 * lane + 1]));
// CHECK-NEXT: }
// CHECK-NEXT: storeVector(out0 + i0 * 64 + i1 * 2, y0);
// CHECK-NEXT: storeVector(out0 + i0 * 64 + i1 * 2 + 32, y1);
// CHECK-NEXT: }
exec.kernel @turn_back(%angles: tensor<16xf32>, %pairs: tensor<12x1x16x2xbf16>, %rest: tensor<12x1x16x2xbf16>)
    : (memref<16xf32>, memref<12x1x16x2xbf16>, memref<12x1x16x2xbf16>) -> memref<12x2x16x2xbf16> {
  %even = cs336.slice %pairs offsets = [0, 0, 0, 0] : tensor<12x1x16x2xbf16> -> tensor<12x1x16x1xbf16>
  %odd = cs336.slice %pairs offsets = [0, 0, 0, 1] : tensor<12x1x16x2xbf16> -> tensor<12x1x16x1xbf16>
  %angle = cs336.broadcast %angles dims = [2] : tensor<16xf32> -> tensor<12x1x16x1xf32>
  %wide = cs336.cast %even : tensor<12x1x16x1xbf16> -> tensor<12x1x16x1xf32>
  %turned = cs336.mul %wide, %angle : tensor<12x1x16x1xf32>
  %first = cs336.cast %turned : tensor<12x1x16x1xf32> -> tensor<12x1x16x1xbf16>
  %second = cs336.neg %odd : tensor<12x1x16x1xbf16>
  %joined = cs336.concat axis = 3 %first, %second : tensor<12x1x16x1xbf16>, tensor<12x1x16x1xbf16> -> tensor<12x1x16x2xbf16>
  %all = cs336.concat axis = 1 %joined, %rest : tensor<12x1x16x2xbf16>, tensor<12x1x16x2xbf16> -> tensor<12x2x16x2xbf16>
  exec.yield %all : tensor<12x2x16x2xbf16>
}

// Only even elements are read: a vector would also load the odd ones.
// CHECK: evens(const float *in0, float *out0) {
// CHECK: const float x0 = in0[i0 * 32 + i1 * 2];
// CHECK-NEXT: out0[i0 * 16 + i1] = -x0;
exec.kernel @evens(%pairs: tensor<12x16x2xf32>) : (memref<12x16x2xf32>) -> memref<12x16x1xf32> {
  %even = cs336.slice %pairs offsets = [0, 0, 0] : tensor<12x16x2xf32> -> tensor<12x16x1xf32>
  %y = cs336.neg %even : tensor<12x16x1xf32>
  exec.yield %y : tensor<12x16x1xf32>
}

// The rounding between two casts is part of the program.
// CHECK: round_f16(const float *in0, float *out0) {
// CHECK: y0[lane] = roundToF16(x0[lane]);
exec.kernel @round_f16(%x: tensor<16xf32>) : (memref<16xf32>) -> memref<16xf32> {
  %low = cs336.cast %x : tensor<16xf32> -> tensor<16xf16>
  %y = cs336.cast %low : tensor<16xf16> -> tensor<16xf32>
  exec.yield %y : tensor<16xf32>
}

// Updates of parameters approximate quotients and roots, and divide by the corrections in the same way.
// CHECK: adamw(const float *in0, {{.*}}, const float *in5,
// CHECK-NEXT: {{^}}      const float *in6, const float *in7, const bool *in8, float *out0, float *out1, float *out2) {
// CHECK: const Vector<float, 4> x3 = loadVector<4>(in3 + i0);
// CHECK-NEXT: const float x4 = in4[0];
// CHECK-NEXT: const float x5 = in5[0];
// CHECK-NEXT: const Divisor [[C1:divisor[0-9]+]](x5);
// CHECK-NEXT: const float x6 = in6[0];
// CHECK-NEXT: const Divisor [[C2:divisor[0-9]+]](x6);
// CHECK: const bool x8 = in8[0];
// CHECK: const float [[G:product[0-9]+]] = x1[lane] * x7;
// CHECK-NEXT: const float [[M:sum[0-9]+]] = x2[lane] * 0.9f + [[G]] * 0.1f;
// CHECK-NEXT: const float [[V:sum[0-9]+]] = x3[lane] * 0.95f + [[G]] * [[G]] * 0.05f;
// CHECK-NEXT: const float [[Q:quotient[0-9]+]] = approximateQuotient(x4 * ([[M]] / [[C1]]), approximateRoot([[V]] / [[C2]]) + 1e-08f);
// CHECK-NEXT: y0[lane] = x8 ? x0[lane] - x4 * 0.1f * x0[lane] - [[Q]] : x0[lane];
// CHECK-NEXT: y1[lane] = x8 ? [[M]] : x2[lane];
// CHECK-NEXT: y2[lane] = x8 ? [[V]] : x3[lane];
exec.kernel @adamw(%p: tensor<64x64xf32>, %g: tensor<64x64xf32>, %m: tensor<64x64xf32>, %v: tensor<64x64xf32>,
                   %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>, %scale: tensor<f32>, %apply: tensor<i1>)
    : (memref<64x64xf32>, memref<64x64xf32>, memref<64x64xf32>, memref<64x64xf32>,
       memref<f32>, memref<f32>, memref<f32>, memref<f32>, memref<i1>)
    -> (memref<64x64xf32>, memref<64x64xf32>, memref<64x64xf32>) {
  %p1, %m1, %v1 = cs336.adamw %p, %g, %m, %v lr = %lr, correction1 = %c1, correction2 = %c2, scale = %scale, apply = %apply
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
      : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>
  exec.yield %p1, %m1, %v1 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// A part of each row of a wider buffer: strides in the layout, the part's place in the map.
// CHECK: neg_slice(
// CHECK: loadVector<4>(in0 + i0 * 256 + i1 + 64);
exec.kernel @neg_slice(%x: tensor<96x192xf32>) : (memref<96x192xf32, strided<[256, 1]>>) -> memref<96x64xf32> {
  %k = cs336.slice %x offsets = [0, 64] : tensor<96x192xf32> -> tensor<96x64xf32>
  %y = cs336.neg %k : tensor<96x64xf32>
  exec.yield %y : tensor<96x64xf32>
}

// An operand that lies in another order goes through shared memory, in squares of 32 by 32.
// CHECK: // Schedule transpose: one tile of 32 x 32 points per block, {{.*}} 1440 = 3 x 8 x 60 points (i0, i1, …).
// CHECK-NEXT: // Grid of 6 blocks of 256 threads.
// CHECK: scale_transposed(
// CHECK-NEXT: __shared__ float [[TILE:tile[0-9]+]][32][33];
// CHECK-NEXT: const unsigned firstColumn = blockIdx.x % 2 * 32;
// CHECK-NEXT: const unsigned firstRow = blockIdx.x / 2 % 1 * 32;
// CHECK-NEXT: const unsigned outer = blockIdx.x / 2;
// CHECK-NEXT: const unsigned i0 = outer;
// CHECK: [[TILE]][step][threadIdx.x % 32] = in0[i0 * 480 + i1 + i2 * 8];
// CHECK: __syncthreads();
// CHECK: const float x1 = in1[i2];
// CHECK-NEXT: out0[i0 * 480 + i1 * 60 + i2] = [[TILE]][threadIdx.x % 32][step] * x1;
exec.kernel @scale_transposed(%x: tensor<3x8x60xf32>, %w: tensor<60xf32>)
    : (memref<3x8x60xf32, strided<[480, 1, 8]>>, memref<60xf32>) -> memref<3x8x60xf32> {
  %rows = cs336.broadcast %w dims = [2] : tensor<60xf32> -> tensor<3x8x60xf32>
  %y = cs336.mul %x, %rows : tensor<3x8x60xf32>
  exec.yield %y : tensor<3x8x60xf32>
}

// Rows of seven elements would leave most of a tile empty.
// CHECK: // Schedule pointwise: one element per thread; 448 = 7 x 64 points (i0, i1, …).
// CHECK: exp_transposed(
// CHECK: const float x0 = in0[i0 + i1 * 7];
// CHECK-NEXT: out0[i0 * 64 + i1] = expf(x0);
exec.kernel @exp_transposed(%x: tensor<7x64xf32>) : (memref<7x64xf32, strided<[1, 7]>>) -> memref<7x64xf32> {
  %y = cs336.exp %x : tensor<7x64xf32>
  exec.yield %y : tensor<7x64xf32>
}

// 2³¹ elements do not fit a 32-bit index, and neither does a row of few elements in a buffer of many.
// CHECK: square_large(
// CHECK-NEXT: const unsigned long long item = static_cast<unsigned long long>(blockIdx.x) * 256 + threadIdx.x;
// CHECK: const unsigned long long i0 = item * 4;
exec.kernel @square_large(%x: tensor<32768x65536xf32>) : (memref<32768x65536xf32>) -> memref<32768x65536xf32> {
  %y = cs336.mul %x, %x : tensor<32768x65536xf32>
  exec.yield %y : tensor<32768x65536xf32>
}
// CHECK: square_far(
// CHECK: const unsigned long long i1 = item % 3;
// CHECK: const float x0 = in0[i0 * 1073741824 + i1];
exec.kernel @square_far(%x: tensor<4x3xf32>) : (memref<4x3xf32, strided<[1073741824, 1]>>) -> memref<4x3xf32> {
  %y = cs336.mul %x, %x : tensor<4x3xf32>
  exec.yield %y : tensor<4x3xf32>
}

// CHECK: embedding(const float *in0, const long long *in1, float *out0) {
// CHECK: const long long x1 = in1[i0];
// CHECK: const float [[ROW:gathered[0-9]+]] = in0[x1 * 64 + static_cast<long long>(i1 + lane)];
// CHECK-NEXT: y0[lane] = [[ROW]];
exec.kernel @embedding(%table: tensor<97x64xf32>, %ids: tensor<3x32xi64>)
    : (memref<97x64xf32>, memref<3x32xi64>) -> memref<3x32x64xf32> {
  %x = cs336.embedding %table, %ids : tensor<97x64xf32>, tensor<3x32xi64> -> tensor<3x32x64xf32>
  exec.yield %x : tensor<3x32x64xf32>
}

// Operands of a part of a result are read in this part only.
// CHECK: pad(const float *in0, float *out0) {
// CHECK: const bool inside0 = i0 >= 1 && i0 < 5;
// CHECK-NEXT: const Vector<float, 4> x0 = inside0 ? loadVector<4>(in0 + i0 * 8 + i1 - 8) : Vector<float, 4>{};
// CHECK: y0[lane] = inside0 ? x0[lane] : 0.0f;
exec.kernel @pad(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<6x8xf32> {
  %y = cs336.pad %x offsets = [1, 0] : tensor<4x8xf32> -> tensor<6x8xf32>
  exec.yield %y : tensor<6x8xf32>
}

// CHECK: concat(const __nv_bfloat16 *in0, const __nv_bfloat16 *in1, __nv_bfloat16 *out0) {
// CHECK: const bool inside0 = i1 >= 2;
// CHECK-NEXT: const bool inside1 = i1 < 2;
// CHECK-NEXT: const __nv_bfloat16 x0 = inside1 ? in0[i0 * 2 + i1] : __nv_bfloat16();
// CHECK-NEXT: const __nv_bfloat16 x1 = inside0 ? in1[i0 * 3 + i1 - 2] : __nv_bfloat16();
// CHECK-NEXT: out0[i0 * 5 + i1] = __float2bfloat16_rn(inside0 ? __bfloat162float(x1) : __bfloat162float(x0));
exec.kernel @concat(%a: tensor<8x2xbf16>, %b: tensor<8x3xbf16>) : (memref<8x2xbf16>, memref<8x3xbf16>) -> memref<8x5xbf16> {
  %y = cs336.concat axis = 1 %a, %b : tensor<8x2xbf16>, tensor<8x3xbf16> -> tensor<8x5xbf16>
  exec.yield %y : tensor<8x5xbf16>
}

// A thread computes all of an axis of at most four elements instead of choosing.
// CHECK: concat_of_few(const __nv_bfloat16 *in0, const __nv_bfloat16 *in1, __nv_bfloat16 *out0) {
// CHECK-NOT: inside
// CHECK: out0[i0 * 3] = __float2bfloat16_rn(__bfloat162float(x0));
// CHECK-NEXT: out0[i0 * 3 + 1] = __float2bfloat16_rn(__bfloat162float(x1));
// CHECK-NEXT: out0[i0 * 3 + 2] = __float2bfloat16_rn(__bfloat162float(x1_1));
exec.kernel @concat_of_few(%a: tensor<8x1xbf16>, %b: tensor<8x2xbf16>) : (memref<8x1xbf16>, memref<8x2xbf16>) -> memref<8x3xbf16> {
  %y = cs336.concat axis = 1 %a, %b : tensor<8x1xbf16>, tensor<8x2xbf16> -> tensor<8x3xbf16>
  exec.yield %y : tensor<8x3xbf16>
}

// Scalars: one thread.
// CHECK: next_step(const long long *in0, long long *out0) {
// CHECK-NEXT: const unsigned i0 = blockIdx.x * 256 + threadIdx.x;
// CHECK-NEXT: if (i0 >= 1)
// CHECK-NEXT: return;
// CHECK-NEXT: const long long x0 = in0[0];
// CHECK-NEXT: out0[0] = static_cast<long long>(static_cast<unsigned long long>(x0) + static_cast<unsigned long long>(1LL));
exec.kernel @next_step(%step: tensor<i64>) : (memref<i64>) -> memref<i64> {
  %one = cs336.constant dense<1> : tensor<i64>
  %next = cs336.add %step, %one : tensor<i64>
  exec.yield %next : tensor<i64>
}

// Integers wrap around, and the overflow of signed numbers is undefined in C++: sums that may overflow are unsigned. The
// ranges of positions show that theirs do not.
// CHECK: wraps(const int *in0, bool *out0) {
// CHECK: const int sum0 = static_cast<int>(static_cast<unsigned>(x0[lane]) + static_cast<unsigned>(2147483647));
// CHECK-NEXT: y0[lane] = sum0 > x0[lane];
exec.kernel @wraps(%x: tensor<64xi32>) : (memref<64xi32>) -> memref<64xi1> {
  %most = cs336.constant dense<2147483647> : tensor<64xi32>
  %sum = cs336.add %x, %most : tensor<64xi32>
  %more = cs336.compare gt %sum, %x : tensor<64xi32>
  exec.yield %more : tensor<64xi1>
}

// CHECK: squares_of_distances(
// CHECK: const int difference0 = static_cast<int>(i0) - static_cast<int>(i1 + lane);
// CHECK-NEXT: y0[lane] = difference0 * difference0;
exec.kernel @squares_of_distances(%x: tensor<8x64xf32>) : (memref<8x64xf32>) -> memref<8x64xi32> {
  %i = cs336.iota axis = 0 : tensor<8x64xi32>
  %j = cs336.iota axis = 1 : tensor<8x64xi32>
  %distance = cs336.sub %i, %j : tensor<8x64xi32>
  %square = cs336.mul %distance, %distance : tensor<8x64xi32>
  exec.yield %square : tensor<8x64xi32>
}
