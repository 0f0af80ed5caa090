// Kernels that no schedule accepts are left out, and the text, a remark and --require-all say why.
// RUN: cs336-translate --emit-cuda %s 2>&1 | FileCheck %s
// RUN: not cs336-translate --emit-cuda --require-all %s 2>&1 | FileCheck %s --check-prefix=REQUIRE

// CHECK: remark: kernel 'two_shapes' has no CUDA text: no schedule accepts it
// CHECK: // two_shapes has no CUDA text: no schedule accepts it (pointwise, column_reduction, row_reduction, serial_reduction: it has outputs of different shapes; scatter: it adds no rows to a table).
// REQUIRE: [[#@LINE+1]]:1: error: kernel 'two_shapes' has no CUDA text: no schedule accepts it
exec.kernel @two_shapes(%x: tensor<4x8xf32>, %y: tensor<4xf32>)
    : (memref<4x8xf32>, memref<4xf32>) -> (memref<4x8xf32>, memref<4xf32>) {
  %a = cs336.neg %x : tensor<4x8xf32>
  %b = cs336.neg %y : tensor<4xf32>
  exec.yield %a, %b : tensor<4x8xf32>, tensor<4xf32>
}

// CHECK: neg(const float *in0, float *out0) {
exec.kernel @neg(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<4x8xf32> {
  %y = cs336.neg %x : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}
