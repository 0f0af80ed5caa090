// The text of reductions: who reads what, who combines it, and which kernels which schedule takes.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// Narrow rows: one warp per row, eight per block.
// CHECK: // Schedule row_reduction: one warp per row of 768 elements; 100 points.
// CHECK-NEXT: // Grid of 13 blocks of 256 threads.
// CHECK: mean_of_squares(const float *in0, float *out0) {
// CHECK-NEXT:   const unsigned row = blockIdx.x * 8 + threadIdx.x / 32;
// CHECK-NEXT:   if (row >= 100)
// CHECK-NEXT:     return;
// CHECK-NEXT:   const unsigned i0 = row;
// CHECK-NEXT:   const auto combine0 = [](float a, float b) { return a + b; };
// CHECK-NEXT:   Vector<float, 4> partial0 = {0.0f, 0.0f, 0.0f, 0.0f};
// CHECK-NEXT: #pragma unroll 4
// CHECK-NEXT:   for (unsigned item1 = threadIdx.x % 32; item1 < 192; item1 += 32) {
// CHECK-NEXT:     const unsigned i1 = item1 * 4;
// CHECK-NEXT:     const Vector<float, 4> x0 = loadVector<4>(in0 + i0 * 768 + i1);
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:     for (int lane = 0; lane < 4; ++lane) {
// CHECK-NEXT:       partial0[lane] = partial0[lane] + x0[lane] * x0[lane];
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   const auto result0 = reduceWarp(reduceLanes(partial0, combine0), combine0);
// CHECK-NEXT:   if (threadIdx.x % 32 != 0)
// CHECK-NEXT:     return;
// CHECK-NEXT:   out0[i0] = result0 / 768.0f;
exec.kernel @mean_of_squares(%x: tensor<100x768xf32>) : (memref<100x768xf32>) -> memref<100xf32> {
  %square = cs336.mul %x, %x : tensor<100x768xf32>
  %sum = cs336.reduce sum %square axes = [1] : tensor<100x768xf32> -> tensor<100xf32>
  %size = cs336.constant dense<768.0> : tensor<100xf32>
  %mean = cs336.div %sum, %size : tensor<100xf32>
  exec.yield %mean : tensor<100xf32>
}

// Wide rows: a block each. bf16 is accumulated in float.
// CHECK: // Schedule row_reduction: one block per row of 10000 elements; 256 points.
// CHECK-NEXT: // Grid of 256 blocks of 256 threads.
// CHECK: sum_wide(const __nv_bfloat16 *in0, __nv_bfloat16 *out0) {
// CHECK-NEXT: const unsigned row = blockIdx.x;
// CHECK: Vector<float, 8> partial0
// CHECK: for (unsigned item1 = threadIdx.x; item1 < 1250; item1 += 256) {
// CHECK: partial0[lane] = partial0[lane] + __bfloat162float(x0[lane]);
// CHECK: const auto result0 = reduceBlock<256>(reduceLanes(partial0, combine0), combine0);
// CHECK-NEXT: if (threadIdx.x != 0)
// CHECK-NEXT: return;
// CHECK-NEXT: out0[i0] = __float2bfloat16_rn(result0);
exec.kernel @sum_wide(%x: tensor<256x10000xbf16>) : (memref<256x10000xbf16>) -> memref<256xbf16> {
  %y = cs336.reduce sum %x axes = [1] : tensor<256x10000xbf16> -> tensor<256xbf16>
  exec.yield %y : tensor<256xbf16>
}

// A single row: many blocks leave their parts in the workspace, and a warp adds those up in order.
// CHECK: // Schedule row_reduction: 264 blocks per row of 7680000 elements; 1 point.
// CHECK-NEXT: // Grid of 264 blocks of 256 threads, then 1 block of 256 threads; a workspace of 1056 bytes.
// CHECK: global_norm_parts(const float *in0, float *out0, unsigned char *workspace) {
// CHECK: const unsigned part = blockIdx.x % 264;
// CHECK: for (unsigned item0 = part * 256 + threadIdx.x; item0 < 1920000; item0 += 67584) {
// CHECK: float *const parts0 = reinterpret_cast<float *>(workspace);
// CHECK-NEXT: parts0[part * 1 + row] = result0;
// CHECK: global_norm(const float *in0, float *out0, unsigned char *workspace) {
// CHECK-NEXT: const unsigned point = blockIdx.x * 8 + threadIdx.x / 32;
// CHECK: for (unsigned part = threadIdx.x % 32; part < 264; part += 32) {
// CHECK-NEXT: partial0 = combine0(partial0, parts0[part * 1 + point]);
// CHECK: const auto result0 = reduceWarp(partial0, combine0);
// CHECK: out0[0] = sqrtf(result0);
exec.kernel @global_norm(%x: tensor<10000x768xf32>) : (memref<10000x768xf32>) -> memref<f32> {
  %square = cs336.mul %x, %x : tensor<10000x768xf32>
  %sum = cs336.reduce sum %square axes = [0, 1] : tensor<10000x768xf32> -> tensor<f32>
  %norm = cs336.sqrt %sum : tensor<f32>
  exec.yield %norm : tensor<f32>
}

// Columns: 32 threads with 4 columns each, eight rows of them.
// CHECK: // Schedule column_reduction: 32 blocks per 128 columns, 1024 elements per column; 768 points.
// CHECK-NEXT: // Grid of 192 blocks of 256 threads, then 96 blocks of 256 threads; a workspace of 98304 bytes.
// CHECK: weight_gradient_parts(
// CHECK-NEXT: const unsigned part = blockIdx.x % 32;
// CHECK-NEXT: const unsigned columnTile = blockIdx.x / 32;
// CHECK-NEXT: const unsigned i0 = (columnTile % 6 * 32 + threadIdx.x % 32) * 4;
// CHECK: if (i0 < 768) {
// CHECK: for (unsigned i1 = part * 8 + threadIdx.x / 32; i1 < 1024; i1 += 256) {
// CHECK-NEXT: const Vector<float, 4> x0 = loadVector<4>(in0 + i0 + i1 * 768);
// CHECK: const auto result0 = reduceColumns<32, 8>(partial0, combine0);
// CHECK-NEXT: if (threadIdx.x >= 32 || i0 >= 768)
// CHECK-NEXT: return;
// CHECK: storeVector(parts0 + part * 768 + outer * 768 + i0, result0);
exec.kernel @weight_gradient(%dy: tensor<4x256x768xf32>) : (memref<4x256x768xf32>) -> memref<768xf32> {
  %sum = cs336.reduce sum %dy axes = [0, 1] : tensor<4x256x768xf32> -> tensor<768xf32>
  exec.yield %sum : tensor<768xf32>
}

// Few elements: one thread per result.
// CHECK: // Schedule serial_reduction: one element per thread; 1000 points.
// CHECK: largest_of_three(const float *in0, float *out0) {
// CHECK: float [[P:partial[0-9]+]] = -infinity();
// CHECK-NEXT: #pragma unroll 4
// CHECK-NEXT: for (unsigned i1 = 0; i1 < 3; ++i1) {
// CHECK-NEXT: const float x0 = in0[i0 * 3 + i1];
// CHECK-NEXT: [[P]] = maximum([[P]], x0);
// CHECK: out0[i0] = [[P]];
exec.kernel @largest_of_three(%x: tensor<1000x3xf32>) : (memref<1000x3xf32>) -> memref<1000xf32> {
  %y = cs336.reduce max %x axes = [1] : tensor<1000x3xf32> -> tensor<1000xf32>
  exec.yield %y : tensor<1000xf32>
}

// Reductions along axes of their own: slower, but there is text.
// CHECK: // Schedule serial_reduction: one element per thread; 4 points.
// CHECK: largest_sum(
// CHECK: for (unsigned i1 = 0; i1 < 8; ++i1) {
// CHECK: for (unsigned i2 = 0; i2 < 32; ++i2) {
exec.kernel @largest_sum(%x: tensor<4x8x32xf32>) : (memref<4x8x32xf32>) -> memref<4xf32> {
  %sums = cs336.reduce sum %x axes = [2] : tensor<4x8x32xf32> -> tensor<4x8xf32>
  %largest = cs336.reduce max %sums axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  exec.yield %largest : tensor<4xf32>
}
