// RUN: cs336-opt %s --exec-kernels-to-cpu=cpu=x86-64-v3 --split-input-file --mlir-print-debuginfo=false | FileCheck %s

// Panels of 16 queries, their sums and 64 scores are all the memory there is; keys are read where they lie, and a block
// of queries meets no keys after its last.
// CHECK-LABEL: llvm.func @cs336_causal(
// CHECK-SAME:    rows = 252
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<512xf32>
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<512xf32>
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK-NOT:     memref.alloca
// CHECK:         %[[LAST:.*]] = arith.minsi
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c64{{.*}} -> (vector<16xf32>, vector<16xf32>) {
// CHECK:           %[[SUMS:.*]]:4 = scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK:             arith.mulf %{{.*}} fastmath<contract> : vector<16xf32>
// CHECK:           arith.cmpi sge, %{{.*}} : vector<16xi32>
// CHECK:           math.exp %{{.*}} : vector<16xf32>
// CHECK:         math.log %{{.*}} : vector<16xf32>
exec.kernel @causal(%q: tensor<2x1000x2x32xf32>, %k: tensor<2x1000x2x32xf32>, %v: tensor<2x1000x2x32xf32>)
    : (memref<2x1000x2x32xf32, strided<[192000, 192, 32, 1]>>, memref<2x1000x2x32xf32, strided<[192000, 192, 32, 1]>>,
       memref<2x1000x2x32xf32, strided<[192000, 192, 32, 1]>>) -> (memref<2x1000x2x32xf32>, memref<2x2x1000xf32>) {
  %o, %lse = cs336.attention %q, %k, %v {scale = 2.5e-01 : f64, causal} : tensor<2x1000x2x32xf32>, tensor<2x1000x2x32xf32> -> tensor<2x2x1000xf32>
  exec.yield %o, %lse : tensor<2x1000x2x32xf32>, tensor<2x2x1000xf32>
}

// -----

// Without a mask nothing is compared. bf16 computes in float32.
// CHECK-LABEL: llvm.func @cs336_backward(
// CHECK-SAME:    rows = 4
// CHECK:         scf.if
// CHECK:           arith.extf %{{.*}} : bf16 to f32
// CHECK-NOT:       vector<16xi32>
// CHECK:         } else {
// CHECK-NOT:       vector<16xi32>
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
// CHECK:         llvm.return
exec.kernel @backward(%q: tensor<1x20x1x8xbf16>, %k: tensor<1x20x1x8xbf16>, %lse: tensor<1x1x20xf32>)
    : (memref<1x20x1x8xbf16>, memref<1x20x1x8xbf16>, memref<1x1x20xf32>)
    -> (memref<1x20x1x8xbf16>, memref<1x20x1x8xbf16>, memref<1x20x1x8xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %k, %q, %lse, %q {scale = 1.0 : f64} : tensor<1x20x1x8xbf16>, tensor<1x20x1x8xbf16>, tensor<1x1x20xf32>
  exec.yield %dq, %dk, %dv : tensor<1x20x1x8xbf16>, tensor<1x20x1x8xbf16>, tensor<1x20x1x8xbf16>
}

// -----

// Heads whose panels do not fit on the stack run as their formula, which stores a row of scores.
// CHECK-LABEL: llvm.func @cs336_formula(
// CHECK:         memref.alloca() {alignment = 64 : i64} : memref<20xf32>
// CHECK-NOT:     vector<16xi32>
// CHECK:         llvm.return
exec.kernel @formula(%q: tensor<1x20x1x4096xf32>) : (memref<1x20x1x4096xf32>) -> (memref<1x20x1x4096xf32>, memref<1x1x20xf32>) {
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x20x1x4096xf32>, tensor<1x20x1x4096xf32> -> tensor<1x1x20xf32>
  exec.yield %o, %lse : tensor<1x20x1x4096xf32>, tensor<1x1x20xf32>
}
