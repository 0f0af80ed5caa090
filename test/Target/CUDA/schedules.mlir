// Kernels that no schedule accepts are left out, and the text, a remark and --require-all say why.
// RUN: cs336-translate --emit-cuda %s 2>&1 | FileCheck %s
// RUN: not cs336-translate --emit-cuda --require-all %s 2>&1 | FileCheck %s --check-prefix=REQUIRE

// CHECK: remark: kernel 'rows_of_sum' has no CUDA text: no schedule accepts it
// CHECK: // rows_of_sum has no CUDA text: no schedule accepts it (transpose, pointwise, column_reduction, row_reduction, serial_reduction: it reads at computed indices from a tensor that it computes; bucketed_scatter, scatter: it adds no rows to a table).
// REQUIRE: [[#@LINE+1]]:1: error: kernel 'rows_of_sum' has no CUDA text: no schedule accepts it
exec.kernel @rows_of_sum(%x: tensor<9x8xf32>, %y: tensor<9x8xf32>, %ids: tensor<4xi64>)
    : (memref<9x8xf32>, memref<9x8xf32>, memref<4xi64>) -> memref<4x8xf32> {
  %table = cs336.add %x, %y : tensor<9x8xf32>
  %rows = cs336.embedding %table, %ids : tensor<9x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  exec.yield %rows : tensor<4x8xf32>
}

// Outputs of several shapes are parts with schedules of their own, which run one after the other.
// CHECK: // Schedule pointwise: 4 consecutive elements per thread; 16384 points.
// CHECK-NEXT: // Schedule column_reduction: 128 columns per block, 32 elements per column; 512 points.
// CHECK-NEXT: // Grid of 16 blocks of 256 threads, then 4 blocks of 256 threads.
// CHECK: exp_and_sum_0(const float *in0, float *out0, float *out1) {
// CHECK: storeVector(out0 + i0, y0);
// CHECK: exp_and_sum_1(const float *in0, float *out0, float *out1) {
// CHECK: partial0[lane] = partial0[lane] + expf(x0[lane]);
// CHECK: storeVector(out1 + i0, y0);
exec.kernel @exp_and_sum(%x: tensor<32x512xf32>) : (memref<32x512xf32>) -> (memref<32x512xf32>, memref<512xf32>) {
  %exp = cs336.exp %x : tensor<32x512xf32>
  %sum = cs336.reduce sum %exp axes = [0] : tensor<32x512xf32> -> tensor<512xf32>
  exec.yield %exp, %sum : tensor<32x512xf32>, tensor<512xf32>
}

// An output that boxes of one shape make up is computed box by box, beside outputs of that shape: every operand is read
// once.
// CHECK: // Schedule pointwise: 4 consecutive elements per thread; 2048 = 32 x 64 points (i0, i1, …).
// CHECK: side_by_side(const float *in0, const float *in1, float *out0, float *out1) {
// CHECK-COUNT-2: loadVector
// CHECK-NOT: loadVector
// CHECK: storeVector(out0 + i0 * 128 + i1, y0);
// CHECK-NEXT: storeVector(out0 + i0 * 128 + i1 + 64, y1);
// CHECK-NEXT: storeVector(out1 + i0 * 64 + i1, y2);
exec.kernel @side_by_side(%x: tensor<32x64xf32>, %y: tensor<32x64xf32>)
    : (memref<32x64xf32>, memref<32x64xf32>) -> (memref<32x128xf32>, memref<32x64xf32>) {
  %product = cs336.mul %x, %y : tensor<32x64xf32>
  %sum = cs336.add %x, %y : tensor<32x64xf32>
  %both = cs336.concat axis = 1 %product, %sum : tensor<32x64xf32>, tensor<32x64xf32> -> tensor<32x128xf32>
  %difference = cs336.sub %x, %y : tensor<32x64xf32>
  exec.yield %both, %difference : tensor<32x128xf32>, tensor<32x64xf32>
}

// CHECK: neg(const float *in0, float *out0) {
exec.kernel @neg(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<4x8xf32> {
  %y = cs336.neg %x : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}
