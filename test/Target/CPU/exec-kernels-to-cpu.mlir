// RUN: cs336-opt %s --exec-kernels-to-cpu=cpu=x86-64-v3 --split-input-file --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --exec-kernels-to-cpu='cpu=x86-64-v3 to-llvm' --split-input-file --mlir-print-debuginfo=false | FileCheck %s --check-prefix=LLVM

// Sums of rows: a row is independent, its sum is in registers; what the vectors leave of it is added one by one.

// CHECK-LABEL: llvm.func @cs336_row_sums(
// CHECK-SAME:    %{{.*}}: !llvm.ptr, %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64)
// CHECK-SAME:    rows = 4
// CHECK-DAG:     %[[X:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.ptr to memref<400xf32>
// CHECK-DAG:     %[[Y:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.ptr to memref<4xf32>
// CHECK-DAG:     %[[BEGIN:.*]] = arith.index_cast %[[FIRST]]
// CHECK-DAG:     %[[END:.*]] = arith.index_cast %[[LAST]]
// CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:           memref.store {{.*}}, %[[Y]]
// CHECK:           %[[LANES:.*]] = scf.for {{.*}} = %{{.*}} to %[[MIDDLE:.*]] step %c32{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<32xf32>)
// CHECK:             %[[VECTOR:.*]] = vector.load %[[X]][%{{.*}}] : memref<400xf32>, vector<32xf32>
// CHECK:             arith.addf %[[VECTOR]], %[[SUM]] fastmath<reassoc> : vector<32xf32>
// CHECK:           vector.reduction <add>, %[[LANES]] fastmath<reassoc> : vector<32xf32> into f32
// CHECK:           scf.for {{.*}} = %[[MIDDLE]] to %{{.*}} -> (f32)
// CHECK:             memref.load %[[X]]
// CHECK:           memref.load %[[Y]]
// CHECK:           arith.addf
// CHECK:           memref.store {{.*}}, %[[Y]]

// LLVM:       #[[VECTORIZED:.*]] = #llvm.loop_annotation<unroll = #{{.*}}, isVectorized = true>
// LLVM-LABEL: llvm.func @cs336_row_sums(
// LLVM-NOT:     {{scf|vector|memref}}.
// LLVM:         llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<32xf32>
// LLVM:         llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<reassoc>} : vector<32xf32>
// LLVM:         llvm.br {{.*}} {loop_annotation = #[[VECTORIZED]]}
// LLVM:         llvm.intr.vector.reduce.fadd{{.*}}fastmathFlags = #llvm.fastmath<reassoc>
exec.kernel @row_sums(%x: tensor<4x100xf32>) : (memref<4x100xf32>) -> memref<4xf32> {
  %s = cs336.reduce sum %x axes = [1] : tensor<4x100xf32> -> tensor<4xf32>
  exec.yield %s : tensor<4xf32>
}

// -----

// Sums of columns: a row of the operand at a time, so that memory is read in order; threads share the columns, so that
// any range of them may be asked for.

// CHECK-LABEL: llvm.func @cs336_column_sums(
// CHECK-SAME:    rows = 64
// CHECK:         %[[REST:.*]] = arith.remui
// CHECK:         %[[MIDDLE:.*]] = arith.subi %{{.*}}, %[[REST]]
// CHECK:         scf.for %{{.*}} to %[[MIDDLE]] step %c32
// CHECK:           vector.store
// CHECK:         scf.for %{{.*}} = %[[MIDDLE]] to
// CHECK:           memref.store
// CHECK:         scf.for %{{.*}} to %c4
// CHECK:           scf.for
// CHECK:             vector.load
// CHECK:             vector.load
// CHECK:             arith.addf {{.*}} : vector<32xf32>
// CHECK:             vector.store
exec.kernel @column_sums(%x: tensor<4x64xf32>) : (memref<4x64xf32>) -> memref<64xf32> {
  %s = cs336.reduce sum %x axes = [0] : tensor<4x64xf32> -> tensor<64xf32>
  exec.yield %s : tensor<64xf32>
}

// -----

// Dense operands are walked as one axis, whatever their shape: vectors, and what is left of them.

// CHECK-LABEL: llvm.func @cs336_dense(
// CHECK-SAME:    rows = 192
// CHECK-COUNT-2: scf.for
// CHECK-NOT:     scf.for
exec.kernel @dense(%x: tensor<4x6x8xf32>) : (memref<4x6x8xf32>) -> memref<4x6x8xf32> {
  %y = cs336.add %x, %x : tensor<4x6x8xf32>
  exec.yield %y : tensor<4x6x8xf32>
}

// -----

// Axes that another operand does not have stay apart; the two that it lacks are one. Nothing is left of rows of 8.

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

// A value per row is loaded once and is equal in all lanes. Numbers of 8 bytes have half as many lanes.

// CHECK-LABEL: llvm.func @cs336_scale_rows(
// CHECK:         scf.for
// CHECK:           %[[W:.*]] = memref.load {{.*}} : memref<6xf64>
// CHECK:           scf.for {{.*}} step %c16
// CHECK:             %[[X:.*]] = vector.load {{.*}} : memref<96xf64>, vector<16xf64>
// CHECK:             %[[WIDE:.*]] = vector.broadcast %[[W]] : f64 to vector<16xf64>
// CHECK:             arith.mulf %[[X]], %[[WIDE]] : vector<16xf64>
exec.kernel @scale_rows(%x: tensor<6x16xf64>, %w: tensor<6xf64>) : (memref<6x16xf64>, memref<6xf64>) -> memref<6x16xf64> {
  %b = cs336.broadcast %w dims = [0] : tensor<6xf64> -> tensor<6x16xf64>
  %y = cs336.mul %x, %b : tensor<6x16xf64>
  exec.yield %y : tensor<6x16xf64>
}

// -----

// Every second element: two vectors that end with the last one of them.

// CHECK-LABEL: llvm.func @cs336_even(
// CHECK:         %[[LOW:.*]] = vector.load %{{.*}} : memref<69xf32>, vector<8xf32>
// CHECK:         %[[SEVEN:.*]] = arith.constant 7 : index
// CHECK:         %[[PLACE:.*]] = arith.addi %{{.*}}, %[[SEVEN]]
// CHECK:         %[[HIGH:.*]] = vector.load %{{.*}}[%[[PLACE]]] : memref<69xf32>, vector<8xf32>
// CHECK:         vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 9, 11, 13, 15]
exec.kernel @even(%x: tensor<4x8xf32>) : (memref<4x8xf32, strided<[18, 2]>>) -> memref<4x8xf32> {
  %y = cs336.neg %x : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}

// -----

// Positions, numbers of 8 bytes on the way, count from the first lane's; rows of a table are read at one place after the other.

// CHECK-LABEL: llvm.func @cs336_positions(
// CHECK:         scf.for {{.*}} step %c16
// CHECK:           %[[STEP:.*]] = vector.step : vector<16xindex>
// CHECK:           arith.addi %{{.*}}, %[[STEP]] : vector<16xindex>
// CHECK-LABEL: llvm.func @cs336_embedding(
// CHECK:         %[[ID:.*]] = memref.load {{.*}} : memref<2xi64>
// CHECK:         scf.for
// CHECK:           vector.load {{.*}} : memref<320xf32>, vector<
exec.kernel @positions() : () -> memref<64xi32> {
  %k = cs336.iota axis = 0 : tensor<64xi32>
  exec.yield %k : tensor<64xi32>
}
exec.kernel @embedding(%t: tensor<10x32xf32>, %i: tensor<2xi64>) : (memref<10x32xf32>, memref<2xi64>) -> memref<2x32xf32> {
  %y = cs336.embedding %t, %i : tensor<10x32xf32>, tensor<2xi64> -> tensor<2x32xf32>
  exec.yield %y : tensor<2x32xf32>
}

// -----

// bf16 is in memory as it is and in registers as float32; an i1 is a byte.

// CHECK-LABEL: llvm.func @cs336_narrow(
// CHECK-DAG:     %[[BITS:.*]] = vector.load {{.*}} : memref<64xi16>, vector<32xi16>
// CHECK-DAG:     %[[HALF:.*]] = arith.bitcast %[[BITS]] : vector<32xi16> to vector<32xbf16>
// CHECK-DAG:     arith.extf %[[HALF]] : vector<32xbf16> to vector<32xf32>
// CHECK-DAG:     %[[P:.*]] = vector.load {{.*}} : memref<64xi8>, vector<32xi8>
// CHECK-DAG:     arith.trunci %[[P]] : vector<32xi8> to vector<32xi1>
exec.kernel @narrow(%x: tensor<64xbf16>, %p: tensor<64xi1>) : (memref<64xbf16>, memref<64xi1>) -> memref<64xbf16> {
  %y = cs336.exp %x : tensor<64xbf16>
  %z = cs336.select %p, %y, %x : tensor<64xbf16>
  exec.yield %z : tensor<64xbf16>
}

// -----

// The phases of a softmax share the row loop; the exponentials of one row wait on the stack.

// CHECK-LABEL: llvm.func @cs336_softmax(
// CHECK-SAME:    rows = 4
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<1xf32>
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             arith.maximumf {{.*}} : vector<8xf32>
// CHECK:           vector.reduction <maximumf>
// CHECK:           scf.for
// CHECK:             math.exp {{.*}} : vector<8xf32>
// CHECK:             arith.addf {{.*}} : vector<8xf32>
// CHECK:             vector.store
// CHECK:           vector.reduction <add>
// CHECK:           scf.for
// CHECK:             arith.divf {{.*}} : vector<8xf32>
// CHECK-NOT:       scf.for

// LLVM-LABEL: llvm.func @cs336_softmax(
// LLVM:         llvm.intr.maximum({{.*}}) : (vector<8xf32>
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
// CHECK:           scf.for {{.*}} step %c4096{{.*}} iter_args
// CHECK:             arith.minsi
// CHECK:             scf.for {{.*}} iter_args
// CHECK:             vector.reduction <add>
exec.kernel @long_sum(%x: tensor<100000xf32>) : (memref<100000xf32>) -> memref<f32> {
  %s = cs336.reduce sum %x axes = [0] : tensor<100000xf32> -> tensor<f32>
  exec.yield %s : tensor<f32>
}

// -----

// Temporaries between operations that share no rows do not fit on a stack: they are in memory of the thread,
// whose address follows the operands'.

// CHECK-LABEL: llvm.func @cs336_wide(
// CHECK-SAME:    %[[BUFFERS:.*]]: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-SAME:    thread_bytes = 4194304
// CHECK-NOT:     memref.alloca
// CHECK:         %[[SLOT:.*]] = llvm.getelementptr %[[BUFFERS]][2]
// CHECK-NEXT:    %[[MEMORY:.*]] = llvm.load %[[SLOT]]
// CHECK:         %[[START:.*]] = llvm.getelementptr %[[MEMORY]][%{{.*}}] {{.*}}, i8
// CHECK-NEXT:    %[[BETWEEN:.*]] = builtin.unrealized_conversion_cast %[[START]] : !llvm.ptr to memref<1048576xf32>
// CHECK:         vector.store %{{.*}}, %[[BETWEEN]]
exec.kernel @wide(%x: tensor<1024x1024xf32>) : (memref<1024x1024xf32>) -> memref<1024x1024xf32> {
  %e = cs336.exp %x : tensor<1024x1024xf32>
  %t = cs336.transpose %e perm = [1, 0] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %y = cs336.add %e, %t : tensor<1024x1024xf32>
  exec.yield %y : tensor<1024x1024xf32>
}
