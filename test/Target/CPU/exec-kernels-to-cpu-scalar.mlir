// RUN: cs336-opt %s --exec-kernels-to-cpu=cpu=x86-64-v3 --split-input-file --mlir-print-debuginfo=false | FileCheck %s --implicit-check-not=vector
// RUN: cs336-opt %s --exec-kernels-to-cpu='cpu=x86-64-v3 to-llvm' --split-input-file --mlir-print-debuginfo=false | FileCheck %s --check-prefix=LLVM

// Loops that are not vectorized, and the reasons.

// float64 functions are libm's.

// CHECK-LABEL: llvm.func @cs336_double(
// CHECK:         math.exp {{.*}} : f64
// CHECK:       } {scalar_because = "it calls a function of the C library"}

// LLVM:       llvm.func @erf(f64) -> f64
// LLVM-LABEL: llvm.func @cs336_double(
// LLVM:         llvm.intr.exp
// LLVM:         llvm.call @erf
exec.kernel @double(%x: tensor<8xf64>) : (memref<8xf64>) -> memref<8xf64> {
  %y = cs336.exp %x : tensor<8xf64>
  %z = cs336.erf %y : tensor<8xf64>
  exec.yield %z : tensor<8xf64>
}

// -----

// CHECK-LABEL: llvm.func @cs336_transposed(
// CHECK:       } {scalar_because = "it reads elements that are far apart"}
exec.kernel @transposed(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>)
    : (memref<16x16xf32>, memref<16x16xf32, strided<[1, 16]>>) -> memref<16x16xf32> {
  %z = cs336.add %x, %y : tensor<16x16xf32>
  exec.yield %z : tensor<16x16xf32>
}

// -----

// CHECK-LABEL: llvm.func @cs336_interleave(
// CHECK-COUNT-2: } {scalar_because = "it writes elements that are not next to each other"}
exec.kernel @interleave(%x: tensor<64x1xf32>, %y: tensor<64x1xf32>) : (memref<64x1xf32>, memref<64x1xf32>) -> memref<64x2xf32> {
  %z = cs336.concat axis = 1 %x, %y : tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x2xf32>
  exec.yield %z : tensor<64x2xf32>
}

// -----

// CHECK-LABEL: llvm.func @cs336_gather(
// CHECK:       } {scalar_because = "it reads elements at computed places"}
exec.kernel @gather(%t: tensor<10x1xf32>, %i: tensor<64xi64>) : (memref<10x1xf32>, memref<64xi64>) -> memref<64x1xf32> {
  %y = cs336.embedding %t, %i : tensor<10x1xf32>, tensor<64xi64> -> tensor<64x1xf32>
  exec.yield %y : tensor<64x1xf32>
}

// -----

// CHECK-LABEL: llvm.func @cs336_short(
// CHECK:       } {scalar_because = "it is short"}
exec.kernel @short(%x: tensor<64x3xf32>, %w: tensor<3xf32>) : (memref<64x3xf32>, memref<3xf32>) -> memref<64x3xf32> {
  %b = cs336.broadcast %w dims = [1] : tensor<3xf32> -> tensor<64x3xf32>
  %y = cs336.mul %x, %b : tensor<64x3xf32>
  exec.yield %y : tensor<64x3xf32>
}

// -----

// A scatter runs as it was written: positions may repeat. Only the table is cleared by vectors.

// CHECK-LABEL: llvm.func @cs336_scatter(
// CHECK:         arith.constant dense<0.000000e+00> : vector<32xf32>
// CHECK-NEXT:    vector.store {{.*}}
// CHECK:         scf.for
// CHECK:           %[[ID:.*]] = memref.load {{.*}} : memref<8xi64>
// CHECK:           scf.for
// CHECK:             arith.addf {{.*}} : f32
// CHECK:             memref.store
exec.kernel @scatter(%i: tensor<8xi64>, %g: tensor<8x16xf32>) : (memref<8xi64>, memref<8x16xf32>) -> memref<10x16xf32> {
  %t = cs336.embedding_grad %i, %g : tensor<8xi64>, tensor<8x16xf32> -> tensor<10x16xf32>
  exec.yield %t : tensor<10x16xf32>
}
