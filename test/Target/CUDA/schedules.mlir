// Kernels that no schedule accepts are left out, and the text, a remark and --require-all say why.
// RUN: cs336-translate --emit-cuda %s 2>&1 | FileCheck %s
// RUN: not cs336-translate --emit-cuda --require-all %s 2>&1 | FileCheck %s --check-prefix=REQUIRE

// CHECK: remark: kernel 'row_sum' has no CUDA text: no schedule accepts it (pointwise: it reduces over an axis)
// CHECK: // row_sum has no CUDA text: no schedule accepts it (pointwise: it reduces over an axis).
// REQUIRE: [[#@LINE+1]]:1: error: kernel 'row_sum' has no CUDA text: no schedule accepts it (pointwise: it reduces over an axis)
exec.kernel @row_sum(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<4xf32> {
  %y = cs336.reduce sum %x axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  exec.yield %y : tensor<4xf32>
}

// CHECK: // scatter has no CUDA text: no schedule accepts it (pointwise: it contains scf.for).
exec.kernel @scatter(%ids: tensor<5xi64>, %dx: tensor<5x8xf32>) : (memref<5xi64>, memref<5x8xf32>) -> memref<9x8xf32> {
  %y = cs336.embedding_grad %ids, %dx : tensor<5xi64>, tensor<5x8xf32> -> tensor<9x8xf32>
  exec.yield %y : tensor<9x8xf32>
}

// CHECK: // two_shapes has no CUDA text: no schedule accepts it (pointwise: it has outputs of different shapes).
exec.kernel @two_shapes(%x: tensor<4x8xf32>, %y: tensor<4xf32>)
    : (memref<4x8xf32>, memref<4xf32>) -> (memref<4x8xf32>, memref<4xf32>) {
  %a = cs336.neg %x : tensor<4x8xf32>
  %b = cs336.neg %y : tensor<4xf32>
  exec.yield %a, %b : tensor<4x8xf32>, tensor<4xf32>
}

// CHECK: // table has no CUDA text: no schedule accepts it (pointwise: it reads a constant table).
exec.kernel @table(%x: tensor<3xf32>) : (memref<3xf32>) -> memref<3xf32> {
  %c = cs336.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %y = cs336.mul %x, %c : tensor<3xf32>
  exec.yield %y : tensor<3xf32>
}

// CHECK: neg(const float *in0, float *out0) {
exec.kernel @neg(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<4x8xf32> {
  %y = cs336.neg %x : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}
