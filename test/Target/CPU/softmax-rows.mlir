// A softmax runs row by row, on vectors: memory of its own is one row of exponentials, which are summed as they are made.

// RUN: cs336-opt %s --exec-kernels-to-cpu=cpu=x86-64-v3 --mlir-print-debuginfo=false | FileCheck %s

// CHECK-LABEL: llvm.func @cs336_masked(
// CHECK-SAME:    rows = 24
// CHECK-DAG:     %[[X:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<768xi16>
// CHECK-DAG:     memref.alloca() {{.*}} : memref<1xf32>
// CHECK-DAG:     %[[E:.*]] = memref.alloca() {{.*}} : memref<32xf32>
// CHECK-DAG:     memref.alloca() {{.*}} : memref<1xf32>
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             vector.load
// CHECK:             arith.maximumf
// CHECK:           scf.for
// CHECK:             vector.load
// CHECK:             math.exp
// CHECK:             arith.addf
// CHECK:             vector.store %{{.*}}, %[[E]]
// CHECK:           scf.for
// CHECK:             vector.load %[[E]]
// CHECK:             arith.divf
// CHECK:             vector.store
// CHECK-NOT:     scalar_because
// CHECK:         llvm.return
exec.kernel @masked(%x: tensor<6x4x32xbf16>, %m: tensor<4x32xi1>)
    : (memref<6x4x32xbf16>, memref<4x32xi1>) -> memref<6x4x32xbf16> {
  %y = cs336.softmax %x mask %m {scale = 5.0e-01 : f64} : tensor<6x4x32xbf16>, tensor<4x32xi1>
  exec.yield %y : tensor<6x4x32xbf16>
}

// CHECK-LABEL: llvm.func @cs336_backward(
// CHECK-SAME:    rows = 24
// CHECK:         memref.alloca() {{.*}} : memref<1xf32>
// CHECK-NOT:     memref.alloca
// CHECK:         llvm.return
exec.kernel @backward(%y: tensor<6x4x32xf32>, %dy: tensor<6x4x32xf32>)
    : (memref<6x4x32xf32>, memref<6x4x32xf32>) -> memref<6x4x32xf32> {
  %dx = cs336.softmax_backward %y, %dy : tensor<6x4x32xf32>
  exec.yield %dx : tensor<6x4x32xf32>
}
