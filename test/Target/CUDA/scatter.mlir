// The text of scatters: sums without atomic additions, of few positions and of many.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// CHECK: // Schedule scatter: 10 positions, one warp per position and 128 columns; the warp of a row's first position sums all positions of the row.
// CHECK-NEXT: // Grid of 1 block of 256 threads, then 5 blocks of 256 threads.
// CHECK: embedding_grad_fill(const long long *in0, const float *in1, float *out0) {
// CHECK: storeVector(out0 + i0, y0);
// CHECK: embedding_grad(const long long *in0, const float *in1, float *out0) {
// CHECK-NEXT: const unsigned warp = blockIdx.x * 8 + threadIdx.x / 32;
// CHECK-NEXT: if (warp >= 40)
// CHECK: row = in0[i0];
// CHECK: unsigned same = __ballot_sync(0xffffffffu, isSame);
// CHECK-NEXT: if (same != 0 && begin + __ffs(same) - 1 < position)
// CHECK-NEXT: return;
// CHECK: x[load] = loadVector<4>(in1 + i0 * 500 + i1);
// CHECK: sum[lane] = sum[lane] + x[load][lane];
// CHECK: if (!inside)
// CHECK-NEXT: return;
// CHECK: storeVector(out0 + row * 500 + column, y0);
exec.kernel @embedding_grad(%ids: tensor<2x5xi64>, %dx: tensor<2x5x500xf32>)
    : (memref<2x5xi64>, memref<2x5x500xf32>) -> memref<2x500xf32> {
  %y = cs336.embedding_grad %ids, %dx : tensor<2x5xi64>, tensor<2x5x500xf32> -> tensor<2x500xf32>
  exec.yield %y : tensor<2x500xf32>
}

// A narrow table is rounded at every addition, as the operation says.
// CHECK: narrow(const int *in0, const __nv_bfloat16 *in1, __nv_bfloat16 *out0) {
// CHECK: sum = roundToBF16(sum + __bfloat162float(x[load]));
exec.kernel @narrow(%ids: tensor<7xi32>, %dx: tensor<7x3xbf16>) : (memref<7xi32>, memref<7x3xbf16>) -> memref<4x3xbf16> {
  %y = cs336.embedding_grad %ids, %dx : tensor<7xi32>, tensor<7x3xbf16> -> tensor<4x3xbf16>
  exec.yield %y : tensor<4x3xbf16>
}

// CHECK: // Schedule bucketed_scatter: positions are collected by row; then a warp sums 128 columns of a row, or a block does if the row has more than 32 positions.
// CHECK-NEXT: // Grid of 1 block of 256 threads, then 24 blocks of 256 threads, then 1 block of 256 threads, then 24 blocks of 256 threads, then 181 blocks of 256 threads, then 264 blocks of 1024 threads, then 100 blocks of 256 threads; a workspace of 74332 bytes.
// CHECK: many_clear(const long long *in0, const float *in1, float *out0, unsigned char *workspace) {
// CHECK-NEXT: Buckets<200, 6000>(workspace).clear(blockIdx.x * 256 + threadIdx.x);
// CHECK: Buckets<200, 6000>(workspace).count(position, in0[i0]);
// CHECK: Buckets<200, 6000>(workspace).reserve(blockIdx.x * 256 + threadIdx.x);
// CHECK: Buckets<200, 6000>(workspace).place(position, in0[i0]);
// CHECK: Buckets<200, 6000>(workspace).sortLong(181);
// CHECK: many_long(const long long *in0, const float *in1, float *out0, unsigned char *workspace) {
// CHECK: for (unsigned task = blockIdx.x; task < *rows.numLong * 4; task += 264) {
// CHECK: many(const long long *in0, const float *in1, float *out0, unsigned char *workspace) {
// CHECK: static_assert(rows.bytes == 74332 && rows.shortSize == 32);
// CHECK: x[load] = loadVector<4>(in1 + i0 * 500 + i1);
// CHECK: if (task >= 800)
// CHECK: if (count > rows.shortSize)
// CHECK-NEXT: return;
// CHECK: add(sum, column, rows.getSorted(row), count);
exec.kernel @many(%ids: tensor<2x3000xi64>, %dx: tensor<2x3000x500xf32>)
    : (memref<2x3000xi64>, memref<2x3000x500xf32>) -> memref<200x500xf32> {
  %y = cs336.embedding_grad %ids, %dx : tensor<2x3000xi64>, tensor<2x3000x500xf32> -> tensor<200x500xf32>
  exec.yield %y : tensor<200x500xf32>
}

// CHECK: // Schedule bucketed_scatter: {{.*}} a warp sums 32 columns of a row
// CHECK: many_narrow_long(const int *in0, const __half *in1, __half *out0, unsigned char *workspace) {
// CHECK: sum = roundToF16(sum + __half2float(x[load]));
// CHECK: sum = roundToF16(sum + part);
// CHECK: many_narrow(const int *in0, const __half *in1, __half *out0, unsigned char *workspace) {
// CHECK: sum = roundToF16(sum + __half2float(x[load]));
exec.kernel @many_narrow(%ids: tensor<2049xi32>, %dx: tensor<2049x3xf16>)
    : (memref<2049xi32>, memref<2049x3xf16>) -> memref<4x3xf16> {
  %y = cs336.embedding_grad %ids, %dx : tensor<2049xi32>, tensor<2049x3xf16> -> tensor<4x3xf16>
  exec.yield %y : tensor<4x3xf16>
}
