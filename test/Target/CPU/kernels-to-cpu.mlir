// RUN: cs336-opt %s --exec-kernels-to-cpu --split-input-file --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --exec-kernels-to-cpu=to-llvm --split-input-file --mlir-print-debuginfo=false | FileCheck %s --check-prefix=LLVM

// Sums of rows: a row is independent, its sum is in a register.

// CHECK-LABEL: llvm.func @cs336_row_sums(
// CHECK-SAME:    %{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK-SAME:    rows = 4
// CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:           llvm.store
// CHECK:           scf.for {{.*}} iter_args(%[[SUM:.*]] =
// CHECK:             %[[X:.*]] = llvm.load {{.*}} {access_groups = [#[[GROUP:.*]]]}
// CHECK:             arith.addf %[[X]], %[[SUM]]
// CHECK:             scf.yield
// CHECK:           llvm.load
// CHECK:           arith.addf
// CHECK:           llvm.store

// LLVM-LABEL: llvm.func @cs336_row_sums(
// LLVM-NOT:     scf.
// LLVM:         llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<reassoc>}
// LLVM:         llvm.br {{.*}} {loop_annotation = #{{.*}}}
exec.kernel @row_sums(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<4xf32> {
  %s = cs336.reduce sum %x axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  exec.yield %s : tensor<4xf32>
}

// -----

// Sums of columns: a row of the operand at a time, so that memory is read in order; threads share the columns.

// CHECK-LABEL: llvm.func @cs336_column_sums(
// CHECK-SAME:    %{{.*}}: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK-SAME:    rows = 8
// CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:           llvm.store
// CHECK:         %[[ROWS:.*]] = arith.constant 4 : i64
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[ROWS]]
// CHECK:           scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:             arith.addf
// CHECK:             llvm.store
exec.kernel @column_sums(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<8xf32> {
  %s = cs336.reduce sum %x axes = [0] : tensor<4x8xf32> -> tensor<8xf32>
  exec.yield %s : tensor<8xf32>
}

// -----

// Dense operands are walked as one axis, whatever their shape.

// CHECK-LABEL: llvm.func @cs336_dense(
// CHECK-SAME:    rows = 192
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
exec.kernel @dense(%x: tensor<4x6x8xf32>) : (memref<4x6x8xf32>) -> memref<4x6x8xf32> {
  %y = cs336.add %x, %x : tensor<4x6x8xf32>
  exec.yield %y : tensor<4x6x8xf32>
}

// -----

// Axes that another operand does not have stay apart; the two that it lacks are one.

// CHECK-LABEL: llvm.func @cs336_scale(
// CHECK-SAME:    rows = 24
// CHECK-COUNT-2: scf.for
// CHECK-NOT:     scf.for
exec.kernel @scale(%x: tensor<4x6x8xf32>, %w: tensor<8xf32>) : (memref<4x6x8xf32>, memref<8xf32>) -> memref<4x6x8xf32> {
  %b = cs336.broadcast %w dims = [2] : tensor<8xf32> -> tensor<4x6x8xf32>
  %y = cs336.mul %x, %b : tensor<4x6x8xf32>
  exec.yield %y : tensor<4x6x8xf32>
}

// -----

// The phases of a softmax share the row loop; the exponentials of one row wait on the stack.

// CHECK-LABEL: llvm.func @cs336_softmax(
// CHECK-SAME:    rows = 4
// CHECK-DAG:     %[[MAX_SIZE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK-DAG:     %[[ROW_SIZE:.*]] = llvm.mlir.constant(8 : i64)
// CHECK-DAG:     llvm.alloca %[[ROW_SIZE]] x f32
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             arith.maximumf
// CHECK:           scf.for
// CHECK:             math.exp
// CHECK:             llvm.store
// CHECK:             arith.addf
// CHECK:           scf.for
// CHECK:             arith.divf
// CHECK-NOT:       scf.for

// LLVM-LABEL: llvm.func @cs336_softmax(
// LLVM:         llvm.intr.maximum
// LLVM-NOT:     llvm.intr.exp
exec.kernel @softmax(%x: tensor<4x8xf32>) : (memref<4x8xf32>) -> memref<4x8xf32> {
  %m = cs336.reduce max %x axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %mb = cs336.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = cs336.sub %x, %mb : tensor<4x8xf32>
  %e = cs336.exp %d : tensor<4x8xf32>
  %s = cs336.reduce sum %e axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %sb = cs336.broadcast %s dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = cs336.div %e, %sb : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}

// -----

// A long sum is a sum of sums.

// CHECK-LABEL: llvm.func @cs336_long_sum(
// CHECK:         scf.for {{.*}} step %{{.*}}
// CHECK:           scf.for {{.*}} step %[[BLOCK:.*]] iter_args
// CHECK:             arith.minsi
// CHECK:             scf.for {{.*}} iter_args
exec.kernel @long_sum(%x: tensor<100000xf32>) : (memref<100000xf32>) -> memref<f32> {
  %s = cs336.reduce sum %x axes = [0] : tensor<100000xf32> -> tensor<f32>
  exec.yield %s : tensor<f32>
}

// -----

// float64 functions are libm's.

// LLVM:       llvm.func @erf(f64) -> f64
// LLVM-LABEL: llvm.func @cs336_double(
// LLVM:         llvm.intr.exp
// LLVM:         llvm.call @erf
exec.kernel @double(%x: tensor<8xf64>) : (memref<8xf64>) -> memref<8xf64> {
  %y = cs336.exp %x : tensor<8xf64>
  %z = cs336.erf %y : tensor<8xf64>
  exec.yield %z : tensor<8xf64>
}
