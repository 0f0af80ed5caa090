// The text of rows whose elements need reductions along them: loaded once, held, and written once.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// A warp a row, which it loads once. What all rows share, the weight, comes from a cache and is loaded late; both outputs
// of the rows' shape are written in the last pass.
// CHECK: // Schedule rows: one warp per row of 768 elements, held in registers for 2 passes; 1024 points.
// CHECK-NEXT: // Grid of 256 blocks of 128 threads.
// CHECK: rms_norm(const float *in0, const __nv_bfloat16 *in1, const float *in2, float *out0, __nv_bfloat16 *out1, float *out2) {
// CHECK-NEXT:   const unsigned row = blockIdx.x * 4 + threadIdx.x / 32;
// CHECK-NEXT:   const unsigned i0 = row;
// CHECK-NEXT:   Vector<float, 4> x0[6];
// CHECK-NEXT:   Vector<__nv_bfloat16, 4> x1[6];
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int step = 0; step < 6; ++step) {
// CHECK-NEXT:     const unsigned item = threadIdx.x % 32 + step * 32;
// CHECK-NEXT:     const unsigned i1 = item * 4;
// CHECK-NEXT:     x0[step] = loadVector<4>(in0 + i0 * 768 + i1);
// CHECK-NEXT:     x1[step] = loadVector<4>(in1 + i0 * 768 + i1);
// CHECK-NEXT:   }
// CHECK-EMPTY:
// CHECK-NEXT:   // Pass 1 of 2: sum.
// CHECK-NEXT:   const auto combine0 = [](float a, float b) { return a + b; };
// CHECK-NEXT:   Vector<float, 4> partial0 = {
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int step = 0; step < 6; ++step) {
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:     for (int lane = 0; lane < 4; ++lane) {
// CHECK-NEXT:       const float [[SUM:.*]] = x0[step][lane] + __bfloat162float(x1[step][lane]);
// CHECK-NEXT:       partial0[lane] = partial0[lane] + [[SUM]] * [[SUM]];
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   const auto result0 = reduceWarp<32>(reduceLanes(partial0, combine0), combine0);
// CHECK-NEXT:   const float [[ROOT:.*]] = rsqrtf(result0 * 0.0013020834f + 1e-05f);
// CHECK-EMPTY:
// CHECK-NEXT:   // Pass 2 of 2: outputs.
// CHECK-NEXT:   Vector<float, 4> x2[6];
// CHECK:          x2[step] = loadVector<4>(in2 + i1);
// CHECK:            const float [[SUM:.*]] = x0[step][lane] + __bfloat162float(x1[step][lane]);
// CHECK-NEXT:       y0[lane] = [[SUM]];
// CHECK-NEXT:       y1[lane] = __float2bfloat16_rn(x2[step][lane] * ([[SUM]] * [[ROOT]]));
// CHECK-NEXT:     }
// CHECK-NEXT:     storeVector(out0 + i0 * 768 + i1, y0);
// CHECK-NEXT:     storeVector(out1 + i0 * 768 + i1, y1);
// CHECK-NEXT:   }
// CHECK-EMPTY:
// CHECK-NEXT:   if (threadIdx.x % 32 != 0)
// CHECK-NEXT:     return;
// CHECK-NEXT:   out2[i0] = [[ROOT]];
// CHECK-NEXT: }
exec.kernel @rms_norm(%in0: tensor<4x256x768xf32>, %in1: tensor<4x256x768xbf16>, %in2: tensor<768xf32>)
    : (memref<4x256x768xf32>, memref<4x256x768xbf16>, memref<768xf32>)
    -> (memref<4x256x768xf32>, memref<4x256x768xbf16>, memref<4x256xf32>) {
  %0 = cs336.cast %in1 : tensor<4x256x768xbf16> -> tensor<4x256x768xf32>
  %1 = cs336.add %in0, %0 : tensor<4x256x768xf32>
  %2 = cs336.mul %1, %1 : tensor<4x256x768xf32>
  %3 = cs336.reduce sum %2 axes = [2] : tensor<4x256x768xf32> -> tensor<4x256xf32>
  %4 = cs336.constant dense<1.30208333333333326e-03> : tensor<4x256xf32>
  %5 = cs336.mul %3, %4 : tensor<4x256xf32>
  %6 = cs336.constant dense<1.00000000000000008e-05> : tensor<4x256xf32>
  %7 = cs336.add %5, %6 : tensor<4x256xf32>
  %8 = cs336.rsqrt %7 : tensor<4x256xf32>
  %9 = cs336.broadcast %8 dims = [0, 1] : tensor<4x256xf32> -> tensor<4x256x768xf32>
  %10 = cs336.mul %1, %9 : tensor<4x256x768xf32>
  %11 = cs336.broadcast %in2 dims = [2] : tensor<768xf32> -> tensor<4x256x768xf32>
  %12 = cs336.mul %11, %10 : tensor<4x256x768xf32>
  %13 = cs336.cast %12 : tensor<4x256x768xf32> -> tensor<4x256x768xbf16>
  exec.yield %1, %13, %8 : tensor<4x256x768xf32>, tensor<4x256x768xbf16>, tensor<4x256xf32>
}

// Three passes over one load of a wide row, a block each. The exponentials, which two passes use, are held as well. Of
// the sum of which one term is not zero, that term is computed: the target's logit.
// CHECK: // Schedule rows: 256 threads per row of 10000 elements, held in registers for 3 passes; 1024 points.
// CHECK-NEXT: // Grid of 1024 blocks of 256 threads.
// CHECK: cross_entropy(const __nv_bfloat16 *in0, const long long *in1, float *out0, __nv_bfloat16 *out1) {
// CHECK:        const long long x1 = in1[i0];
// CHECK:        for (int step = 0; step < 5; ++step) {
// CHECK-NEXT:     const unsigned item = threadIdx.x + step * 256;
// CHECK-NEXT:     if (step == 4 && item >= 1250)
// CHECK-NEXT:       continue;
// CHECK:          x0[step] = loadVector<8>(in0 + i0 * 10000 + i1);
// CHECK-NOT:  loadVector
// CHECK:        // Pass 1 of 3: largest.
// CHECK:            const float [[LOGIT:.*]] = __bfloat162float(x0[step][lane]);
// CHECK-NEXT:       partial0[lane] = maximum(partial0[lane], [[LOGIT]]);
// CHECK:        const auto result0 = reduceBlock<256>(reduceLanes(partial0, combine0), combine0);
// CHECK-NEXT:   float [[PICKED:.*]] = 0.0f;
// CHECK-NEXT:   if (asIndex(x1) < 10000) {
// CHECK-NEXT:     const unsigned i1 = asIndex(x1);
// CHECK-NEXT:     const __nv_bfloat16 [[X:.*]] = in0[i0 * 10000 + i1];
// CHECK:          [[PICKED]] = {{.*}};
// CHECK-NEXT:   }
// CHECK:        // Pass 2 of 3: sum.
// CHECK-NEXT:   Vector<float, 8> [[EXP:.*]][5];
// CHECK:            [[EXP]][step][lane] = expf([[SHIFTED:.*]]);
// CHECK-NEXT:       partial1[lane] = partial1[lane] + [[EXP]][step][lane];
// CHECK:        // Pass 3 of 3: outputs.
// CHECK-NOT:  expf
// CHECK:            const bool [[TARGET:.*]] = lane == asIndex(x1) - i1;
// CHECK:            y1[lane] = __float2bfloat16_rn(([[TARGET]] ? -1.0f : 0.0f) + [[EXP]][step][lane] * {{.*}});
// CHECK:        if (threadIdx.x != 0)
// CHECK-NEXT:     return;
// CHECK-NEXT:   out0[i0] = logf(result1) - [[PICKED]];
exec.kernel @cross_entropy(%in0: tensor<1024x10000xbf16>, %in1: tensor<1024xi64>)
    : (memref<1024x10000xbf16>, memref<1024xi64>)
    -> (memref<1024xf32>, memref<1024x10000xbf16>) {
  %0 = cs336.cast %in0 : tensor<1024x10000xbf16> -> tensor<1024x10000xf32>
  %1 = cs336.reduce max %0 axes = [1] : tensor<1024x10000xf32> -> tensor<1024xf32>
  %2 = cs336.broadcast %1 dims = [0] : tensor<1024xf32> -> tensor<1024x10000xf32>
  %3 = cs336.sub %0, %2 : tensor<1024x10000xf32>
  %4 = cs336.exp %3 : tensor<1024x10000xf32>
  %5 = cs336.reduce sum %4 axes = [1] : tensor<1024x10000xf32> -> tensor<1024xf32>
  %6 = cs336.iota axis = 1 : tensor<1024x10000xi64>
  %7 = cs336.broadcast %in1 dims = [0] : tensor<1024xi64> -> tensor<1024x10000xi64>
  %8 = cs336.compare eq %6, %7 : tensor<1024x10000xi64>
  %9 = cs336.constant dense<0.00000000000000000e+00> : tensor<1024x10000xf32>
  %10 = cs336.select %8, %3, %9 : tensor<1024x10000xf32>
  %11 = cs336.reduce sum %10 axes = [1] : tensor<1024x10000xf32> -> tensor<1024xf32>
  %12 = cs336.log %5 : tensor<1024xf32>
  %13 = cs336.sub %12, %11 : tensor<1024xf32>
  %14 = cs336.constant dense<1.00000000000000000e+00> : tensor<1024xf32>
  %15 = cs336.div %14, %5 : tensor<1024xf32>
  %16 = cs336.broadcast %15 dims = [0] : tensor<1024xf32> -> tensor<1024x10000xf32>
  %17 = cs336.mul %4, %16 : tensor<1024x10000xf32>
  %18 = cs336.constant dense<-1.00000000000000000e+00> : tensor<1024x10000xf32>
  %19 = cs336.constant dense<0.00000000000000000e+00> : tensor<1024x10000xf32>
  %20 = cs336.select %8, %18, %19 : tensor<1024x10000xf32>
  %21 = cs336.add %20, %17 : tensor<1024x10000xf32>
  %22 = cs336.cast %21 : tensor<1024x10000xf32> -> tensor<1024x10000xbf16>
  exec.yield %13, %22 : tensor<1024xf32>, tensor<1024x10000xbf16>
}

// Rows narrower than a warp share one. A mask is an index compared with another.
// CHECK: // Schedule rows: 8 threads per row of 33 elements, held in registers for 3 passes; 792 = 24 x 33 points (i0, i1, …).
// CHECK: causal_softmax(const float *in0, float *out0) {
// CHECK-NEXT:   const unsigned row = blockIdx.x * 16 + threadIdx.x / 8;
// CHECK-NEXT:   if (row >= 792)
// CHECK-NEXT:     return;
// CHECK:        const int [[QUERY:.*]] = static_cast<int>(i1);
// CHECK:        // Pass 1 of 3: largest.
// CHECK:          [[QUERY]] >= static_cast<int>(i2) ? x0[step] * 0.125f : -infinity();
// CHECK:        reduceWarp<8>(partial0, combine0);
exec.kernel @causal_softmax(%in0: tensor<2x12x33x33xf32>)
    : (memref<2x12x33x33xf32>)
    -> memref<2x12x33x33xf32> {
  %0 = cs336.constant dense<1.25000000000000000e-01> : tensor<2x12x33x33xf32>
  %1 = cs336.mul %in0, %0 : tensor<2x12x33x33xf32>
  %2 = cs336.iota axis = 0 : tensor<33x33xi32>
  %3 = cs336.iota axis = 1 : tensor<33x33xi32>
  %4 = cs336.compare ge %2, %3 : tensor<33x33xi32>
  %5 = cs336.broadcast %4 dims = [2, 3] : tensor<33x33xi1> -> tensor<2x12x33x33xi1>
  %6 = cs336.constant dense<0xFF800000> : tensor<2x12x33x33xf32>
  %7 = cs336.select %5, %1, %6 : tensor<2x12x33x33xf32>
  %8 = cs336.reduce max %7 axes = [3] : tensor<2x12x33x33xf32> -> tensor<2x12x33xf32>
  %9 = cs336.broadcast %8 dims = [0, 1, 2] : tensor<2x12x33xf32> -> tensor<2x12x33x33xf32>
  %10 = cs336.sub %7, %9 : tensor<2x12x33x33xf32>
  %11 = cs336.exp %10 : tensor<2x12x33x33xf32>
  %12 = cs336.reduce sum %11 axes = [3] : tensor<2x12x33x33xf32> -> tensor<2x12x33xf32>
  %13 = cs336.broadcast %12 dims = [0, 1, 2] : tensor<2x12x33xf32> -> tensor<2x12x33x33xf32>
  %14 = cs336.div %11, %13 : tensor<2x12x33x33xf32>
  exec.yield %14 : tensor<2x12x33x33xf32>
}

// A row that does not fit into registers is read again in every pass.
// CHECK: // Schedule rows: 512 threads per row of 40000 elements, read again in each of 3 passes; 264 points.
// CHECK: wide(
// CHECK:        // Pass 1 of 3: largest.
// CHECK:        for (unsigned item1 = threadIdx.x; item1 < 10000; item1 += 512) {
// CHECK:          const Vector<float, 4> x0 = loadVector<4>(in0 + i0 * 40000 + i1);
// CHECK:        // Pass 2 of 3: sum.
// CHECK:          const Vector<float, 4> x0 = loadVector<4>(in0 + i0 * 40000 + i1);
// CHECK:        // Pass 3 of 3: outputs.
// CHECK:          const Vector<float, 4> x0 = loadVector<4>(in0 + i0 * 40000 + i1);
// CHECK:          storeVector(out0 + i0 * 40000 + i1, y0);
exec.kernel @wide(%in0: tensor<264x40000xf32>) : (memref<264x40000xf32>) -> memref<264x40000xf32> {
  %0 = cs336.reduce max %in0 axes = [1] : tensor<264x40000xf32> -> tensor<264xf32>
  %1 = cs336.broadcast %0 dims = [0] : tensor<264xf32> -> tensor<264x40000xf32>
  %2 = cs336.sub %in0, %1 : tensor<264x40000xf32>
  %3 = cs336.exp %2 : tensor<264x40000xf32>
  %4 = cs336.reduce sum %3 axes = [1] : tensor<264x40000xf32> -> tensor<264xf32>
  %5 = cs336.broadcast %4 dims = [0] : tensor<264xf32> -> tensor<264x40000xf32>
  %6 = cs336.div %3, %5 : tensor<264x40000xf32>
  exec.yield %6 : tensor<264x40000xf32>
}

// All that differs by row is under way before anything is computed, the residual's gradient as well.
// CHECK: // Schedule rows: 64 threads per row of 768 elements, held in registers for 2 passes; 1024 points.
// CHECK: rms_norm_backward(
// CHECK:          x4[step] = loadVector<4>(in4 + i0 * 768 + i1);
// CHECK-NEXT:     x1[step] = loadVector<4>(in1 + i0 * 768 + i1);
// CHECK-NEXT:     x0[step] = loadVector<4>(in0 + i0 * 768 + i1);
// CHECK:        // Pass 1 of 2: sum.
// CHECK:          x2[step] = loadVector<4>(in2 + i1);
// CHECK:        // Pass 2 of 2: outputs.
// CHECK-NOT:  loadVector
// CHECK:          storeVector(out0 + i0 * 768 + i1, y0);
exec.kernel @rms_norm_backward(%in0: tensor<1024x768xf32>, %in1: tensor<1024x768xbf16>, %in2: tensor<768xf32>, %in3: tensor<1024xf32>, %in4: tensor<1024x768xf32>)
    : (memref<1024x768xf32>, memref<1024x768xbf16>, memref<768xf32>, memref<1024xf32>, memref<1024x768xf32>)
    -> memref<1024x768xf32> {
  %0 = cs336.cast %in1 : tensor<1024x768xbf16> -> tensor<1024x768xf32>
  %1 = cs336.broadcast %in2 dims = [1] : tensor<768xf32> -> tensor<1024x768xf32>
  %2 = cs336.mul %0, %1 : tensor<1024x768xf32>
  %3 = cs336.mul %2, %in0 : tensor<1024x768xf32>
  %4 = cs336.reduce sum %3 axes = [1] : tensor<1024x768xf32> -> tensor<1024xf32>
  %5 = cs336.mul %in3, %in3 : tensor<1024xf32>
  %6 = cs336.mul %in3, %5 : tensor<1024xf32>
  %7 = cs336.constant dense<-1.30208333333333326e-03> : tensor<1024xf32>
  %8 = cs336.mul %6, %7 : tensor<1024xf32>
  %9 = cs336.mul %4, %8 : tensor<1024xf32>
  %10 = cs336.broadcast %in3 dims = [0] : tensor<1024xf32> -> tensor<1024x768xf32>
  %11 = cs336.mul %2, %10 : tensor<1024x768xf32>
  %12 = cs336.broadcast %9 dims = [0] : tensor<1024xf32> -> tensor<1024x768xf32>
  %13 = cs336.mul %in0, %12 : tensor<1024x768xf32>
  %14 = cs336.add %11, %13 : tensor<1024x768xf32>
  %15 = cs336.add %in4, %14 : tensor<1024x768xf32>
  exec.yield %15 : tensor<1024x768xf32>
}

// Results that are rounded to 16 bits use approximate exponentials, and multiplications by reciprocals as quotients.
// CHECK: softmax(const __nv_bfloat16 *in0, __nv_bfloat16 *out0) {
// CHECK:            [[EXP:exponential[0-9]+]][step][lane] = approximateExp({{.*}} - result0);
// CHECK:        const auto result1 = reduceWarp<32>
// CHECK-NEXT:   const Divisor [[DIVISOR:.*]](result1);
// CHECK:            y0[lane] = __float2bfloat16_rn([[EXP]][step][lane] / [[DIVISOR]]);
exec.kernel @softmax(%in0: tensor<64x1024xbf16>) : (memref<64x1024xbf16>) -> memref<64x1024xbf16> {
  %0 = cs336.cast %in0 : tensor<64x1024xbf16> -> tensor<64x1024xf32>
  %1 = cs336.reduce max %0 axes = [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %2 = cs336.broadcast %1 dims = [0] : tensor<64xf32> -> tensor<64x1024xf32>
  %3 = cs336.sub %0, %2 : tensor<64x1024xf32>
  %4 = cs336.exp %3 : tensor<64x1024xf32>
  %5 = cs336.reduce sum %4 axes = [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %6 = cs336.broadcast %5 dims = [0] : tensor<64xf32> -> tensor<64x1024xf32>
  %7 = cs336.div %4, %6 : tensor<64x1024xf32>
  %8 = cs336.cast %7 : tensor<64x1024xf32> -> tensor<64x1024xbf16>
  exec.yield %8 : tensor<64x1024xbf16>
}

// A training step also keeps the float32 result. Its sums have the order of those above: stores do not narrow vectors.
// CHECK: softmax_kept(const __nv_bfloat16 *in0, __nv_bfloat16 *out0, float *out1) {
// CHECK: Vector<__nv_bfloat16, 8> x0[4];
// CHECK:            Vector<__nv_bfloat16, 8> y0;
// CHECK-NEXT:       Vector<float, 8> y1;
exec.kernel @softmax_kept(%in0: tensor<64x1024xbf16>) : (memref<64x1024xbf16>) -> (memref<64x1024xbf16>, memref<64x1024xf32>) {
  %0 = cs336.cast %in0 : tensor<64x1024xbf16> -> tensor<64x1024xf32>
  %1 = cs336.reduce max %0 axes = [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %2 = cs336.broadcast %1 dims = [0] : tensor<64xf32> -> tensor<64x1024xf32>
  %3 = cs336.sub %0, %2 : tensor<64x1024xf32>
  %4 = cs336.exp %3 : tensor<64x1024xf32>
  %5 = cs336.reduce sum %4 axes = [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %6 = cs336.broadcast %5 dims = [0] : tensor<64xf32> -> tensor<64x1024xf32>
  %7 = cs336.div %4, %6 : tensor<64x1024xf32>
  %8 = cs336.cast %7 : tensor<64x1024xf32> -> tensor<64x1024xbf16>
  exec.yield %8, %7 : tensor<64x1024xbf16>, tensor<64x1024xf32>
}

// One number a row, which takes two reductions that need each other.
// CHECK: // Schedule rows: 64 threads per row of 4096 elements, held in registers for 2 passes; 64 points.
// CHECK: log_sum_exp(
// CHECK:        // Pass 2 of 2: sum.
// CHECK:        if (threadIdx.x != 0)
// CHECK-NEXT:     return;
// CHECK-NEXT:   out0[i0] = logf(result1) + result0;
exec.kernel @log_sum_exp(%in0: tensor<64x4096xf32>) : (memref<64x4096xf32>) -> memref<64xf32> {
  %0 = cs336.reduce max %in0 axes = [1] : tensor<64x4096xf32> -> tensor<64xf32>
  %1 = cs336.broadcast %0 dims = [0] : tensor<64xf32> -> tensor<64x4096xf32>
  %2 = cs336.sub %in0, %1 : tensor<64x4096xf32>
  %3 = cs336.exp %2 : tensor<64x4096xf32>
  %4 = cs336.reduce sum %3 axes = [1] : tensor<64x4096xf32> -> tensor<64xf32>
  %5 = cs336.log %4 : tensor<64xf32>
  %6 = cs336.add %5, %0 : tensor<64xf32>
  exec.yield %6 : tensor<64xf32>
}
