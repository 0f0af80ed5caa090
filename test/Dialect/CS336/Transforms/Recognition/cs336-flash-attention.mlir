// RUN: cs336-opt %s --split-input-file --cs336-flash-attention --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --cs336-flash-attention -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --split-input-file --cs336-flash-attention -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: cs336-opt %s --split-input-file --cs336-flash-attention --remarks-filter=cs336-flash-attention --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// The softmax may already be one operation.
// RUN: cs336-opt %s --split-input-file --cs336-fuse-softmax --cs336-flash-attention --mlir-print-debuginfo=false | FileCheck %s

// Head split and merge become reshapes, and nothing of the scores is left. A second result is there for the gradient.
// REMARK: "values"{{.*}}2 x 9 queries x 9 keys, 4 heads of 16, causal
// CHECK-LABEL: func.func @causal(
// CHECK-SAME: %[[Q:.*]]: tensor<2x9x64xf32>, %[[K:.*]]: tensor<2x9x64xf32>, %[[V:.*]]: tensor<2x9x64xf32>)
// CHECK-DAG: %[[Q1:.*]] = cs336.reshape %[[Q]] : tensor<2x9x64xf32> -> tensor<2x9x4x16xf32>
// CHECK-DAG: %[[K1:.*]] = cs336.reshape %[[K]]
// CHECK-DAG: %[[V1:.*]] = cs336.reshape %[[V]]
// CHECK: %[[O:.*]], %{{.*}} = cs336.attention %[[Q1]], %[[K1]], %[[V1]] {causal, scale = 2.500000e-01 : f64} : tensor<2x9x4x16xf32>, tensor<2x9x4x16xf32> -> tensor<2x4x9xf32>
// CHECK-NEXT: %[[Y:.*]] = cs336.reshape %[[O]] : tensor<2x9x4x16xf32> -> tensor<2x9x64xf32>
// CHECK-NEXT: return %[[Y]]
func.func @causal(%q0: tensor<2x9x64xf32>, %k0: tensor<2x9x64xf32>, %v0: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %q1 = cs336.reshape %q0 : tensor<2x9x64xf32> -> tensor<2x9x4x16xf32>
  %q = cs336.transpose %q1 perm = [0, 2, 1, 3] : tensor<2x9x4x16xf32> -> tensor<2x4x9x16xf32>
  %k1 = cs336.reshape %k0 : tensor<2x9x64xf32> -> tensor<2x9x4x16xf32>
  %k = cs336.transpose %k1 perm = [0, 2, 1, 3] : tensor<2x9x4x16xf32> -> tensor<2x4x9x16xf32>
  %v1 = cs336.reshape %v0 : tensor<2x9x64xf32> -> tensor<2x9x4x16xf32>
  %v = cs336.transpose %v1 perm = [0, 2, 1, 3] : tensor<2x9x4x16xf32> -> tensor<2x4x9x16xf32>
  %s = cs336.matmul %q, %k {transpose_b} : tensor<2x4x9x16xf32>, tensor<2x4x9x16xf32> -> tensor<2x4x9x9xf32>
  %c = cs336.constant dense<2.5e-01> : tensor<2x4x9x9xf32>
  %x0 = cs336.mul %s, %c : tensor<2x4x9x9xf32>
  %i = cs336.iota axis = 0 : tensor<9x9xi32>
  %j = cs336.iota axis = 1 : tensor<9x9xi32>
  %ge = cs336.compare ge %i, %j : tensor<9x9xi32>
  %visible = cs336.broadcast %ge dims = [2, 3] : tensor<9x9xi1> -> tensor<2x4x9x9xi1>
  %infinity = cs336.constant dense<0xFF800000> : tensor<2x4x9x9xf32>
  %x = cs336.select %visible, %x0, %infinity : tensor<2x4x9x9xf32>
  %m0 = cs336.reduce max %x axes = [3] {stop_gradient} : tensor<2x4x9x9xf32> -> tensor<2x4x9xf32>
  %m = cs336.broadcast %m0 dims = [0, 1, 2] : tensor<2x4x9xf32> -> tensor<2x4x9x9xf32>
  %d = cs336.sub %x, %m : tensor<2x4x9x9xf32>
  %e = cs336.exp %d : tensor<2x4x9x9xf32>
  %z0 = cs336.reduce sum %e axes = [3] : tensor<2x4x9x9xf32> -> tensor<2x4x9xf32>
  %z = cs336.broadcast %z0 dims = [0, 1, 2] : tensor<2x4x9xf32> -> tensor<2x4x9x9xf32>
  %p = cs336.div %e, %z : tensor<2x4x9x9xf32>
  %o = cs336.matmul %p, %v : tensor<2x4x9x9xf32>, tensor<2x4x9x16xf32> -> tensor<2x4x9x16xf32> loc("values")
  %o1 = cs336.transpose %o perm = [0, 2, 1, 3] : tensor<2x4x9x16xf32> -> tensor<2x9x4x16xf32>
  %y = cs336.reshape %o1 : tensor<2x9x4x16xf32> -> tensor<2x9x64xf32>
  return %y : tensor<2x9x64xf32>
}

// -----

// Neither batch nor heads, no scale, and keys that lie transposed.
// REMARK: 1 x 5 queries x 7 keys, 1 head of 8, not causal
// CHECK-LABEL: func.func @matrices(
// CHECK-DAG: %[[Q:.*]] = cs336.reshape %arg0 : tensor<5x8xf32> -> tensor<1x5x1x8xf32>
// CHECK-DAG: %[[KT:.*]] = cs336.transpose %arg1 perm = [1, 0] : tensor<8x7xf32> -> tensor<7x8xf32>
// CHECK-DAG: %[[K:.*]] = cs336.reshape %[[KT]] : tensor<7x8xf32> -> tensor<1x7x1x8xf32>
// CHECK-DAG: %[[V:.*]] = cs336.reshape %arg2 : tensor<7x8xf32> -> tensor<1x7x1x8xf32>
// CHECK: cs336.attention %[[Q]], %[[K]], %[[V]] {scale = 1.000000e+00 : f64}
// CHECK-NEXT: cs336.reshape %{{.*}} : tensor<1x5x1x8xf32> -> tensor<5x8xf32>
func.func @matrices(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %x = cs336.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32> -> tensor<5x7xf32>
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<5x7xf32> -> tensor<5xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<5xf32> -> tensor<5x7xf32>
  %d = cs336.sub %x, %m : tensor<5x7xf32>
  %e = cs336.exp %d : tensor<5x7xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<5x7xf32> -> tensor<5xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<5xf32> -> tensor<5x7xf32>
  %p = cs336.div %e, %z : tensor<5x7xf32>
  %o = cs336.matmul %p, %v : tensor<5x7xf32>, tensor<7x8xf32> -> tensor<5x8xf32>
  return %o : tensor<5x8xf32>
}

// -----

// A table that is added, fewer queries than keys, scales before and after it.
// REMARK: 3 x 2 queries x 4 keys, 1 head of 8, causal
// CHECK-LABEL: func.func @table(
// CHECK: cs336.attention %{{.*}} {causal, scale = 1.250000e-01 : f64} : tensor<3x2x1x8xf32>, tensor<3x4x1x8xf32>
func.func @table(%q: tensor<3x2x8xf32>, %k: tensor<3x4x8xf32>, %v: tensor<3x4x8xf32>) -> tensor<3x2x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<3x2x8xf32>, tensor<3x4x8xf32> -> tensor<3x2x4xf32>
  %four = cs336.constant dense<4.0> : tensor<3x2x4xf32>
  %x0 = cs336.div %s, %four : tensor<3x2x4xf32>
  %table = cs336.constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000]]> : tensor<2x4xf32>
  %bias = cs336.broadcast %table dims = [1, 2] : tensor<2x4xf32> -> tensor<3x2x4xf32>
  %x1 = cs336.add %bias, %x0 : tensor<3x2x4xf32>
  %half = cs336.constant dense<5.0e-01> : tensor<3x2x4xf32>
  %x = cs336.mul %half, %x1 : tensor<3x2x4xf32>
  %m0 = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<3x2x4xf32> -> tensor<3x2xf32>
  %m = cs336.broadcast %m0 dims = [0, 1] : tensor<3x2xf32> -> tensor<3x2x4xf32>
  %d = cs336.sub %x, %m : tensor<3x2x4xf32>
  %e = cs336.exp %d : tensor<3x2x4xf32>
  %z0 = cs336.reduce sum %e axes = [2] : tensor<3x2x4xf32> -> tensor<3x2xf32>
  %z = cs336.broadcast %z0 dims = [0, 1] : tensor<3x2xf32> -> tensor<3x2x4xf32>
  %p = cs336.div %e, %z : tensor<3x2x4xf32>
  %o = cs336.matmul %p, %v : tensor<3x2x4xf32>, tensor<3x4x8xf32> -> tensor<3x2x8xf32>
  return %o : tensor<3x2x8xf32>
}

// -----

// A table of zeros, which hides nothing: what a causal one is for the last query.
// REMARK: 2 x 1 queries x 4 keys, 1 head of 8, not causal
// CHECK-LABEL: func.func @table_of_zeros(
// CHECK: cs336.attention %{{.*}} {scale = 1.000000e+00 : f64} : tensor<2x1x1x8xf32>, tensor<2x4x1x8xf32>
func.func @table_of_zeros(%q: tensor<2x1x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x1x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<2x1x8xf32>, tensor<2x4x8xf32> -> tensor<2x1x4xf32>
  %table = cs336.constant dense<0.0> : tensor<1x4xf32>
  %bias = cs336.broadcast %table dims = [1, 2] : tensor<1x4xf32> -> tensor<2x1x4xf32>
  %x = cs336.add %s, %bias : tensor<2x1x4xf32>
  %p = cs336.softmax %x : tensor<2x1x4xf32>
  %o = cs336.matmul %p, %v : tensor<2x1x4xf32>, tensor<2x4x8xf32> -> tensor<2x1x8xf32>
  return %o : tensor<2x1x8xf32>
}

// -----

// j ≤ i, more queries than keys.
// REMARK: 1 x 4 queries x 3 keys, 1 head of 8, causal
// CHECK-LABEL: func.func @swapped(
// CHECK: cs336.attention {{.*}} {causal,
func.func @swapped(%q: tensor<4x8xf32>, %k: tensor<3x8xf32>, %v: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<3x8xf32> -> tensor<4x3xf32>
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x3xf32>
  %i = cs336.iota axis = 0 : tensor<4x3xi64>
  %j = cs336.iota axis = 1 : tensor<4x3xi64>
  %m1 = cs336.compare le %j, %i : tensor<4x3xi64>
  %x = cs336.select %m1, %s, %infinity : tensor<4x3xf32>
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x3xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %d = cs336.sub %x, %m : tensor<4x3xf32>
  %e = cs336.exp %d : tensor<4x3xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x3xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %p = cs336.div %e, %z : tensor<4x3xf32>
  %o = cs336.matmul %p, %v : tensor<4x3xf32>, tensor<3x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Not i < j: what is hidden is chosen.
// REMARK: 1 x 4 queries x 3 keys, 1 head of 8, causal
// CHECK-LABEL: func.func @hidden(
// CHECK: cs336.attention {{.*}} {causal,
func.func @hidden(%q: tensor<4x8xf32>, %k: tensor<3x8xf32>, %v: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<3x8xf32> -> tensor<4x3xf32>
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x3xf32>
  %i = cs336.iota axis = 0 : tensor<4x3xi64>
  %j = cs336.iota axis = 1 : tensor<4x3xi64>
  %m1 = cs336.compare lt %i, %j : tensor<4x3xi64>
  %x = cs336.select %m1, %infinity, %s : tensor<4x3xf32>
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x3xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %d = cs336.sub %x, %m : tensor<4x3xf32>
  %e = cs336.exp %d : tensor<4x3xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x3xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %p = cs336.div %e, %z : tensor<4x3xf32>
  %o = cs336.matmul %p, %v : tensor<4x3xf32>, tensor<3x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// i + 1 > j, of columns and rows that are repeated, in floating point.
// REMARK: 1 x 4 queries x 3 keys, 1 head of 8, causal
// CHECK-LABEL: func.func @shifted(
// CHECK: cs336.attention {{.*}} {causal,
func.func @shifted(%q: tensor<4x8xf32>, %k: tensor<3x8xf32>, %v: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<3x8xf32> -> tensor<4x3xf32>
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x3xf32>
  %i0 = cs336.iota axis = 0 : tensor<4xf32>
  %one = cs336.constant dense<1.0> : tensor<4xf32>
  %i1 = cs336.add %i0, %one : tensor<4xf32>
  %i = cs336.broadcast %i1 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %j0 = cs336.iota axis = 1 : tensor<1x3xf32>
  %j1 = cs336.reshape %j0 : tensor<1x3xf32> -> tensor<3xf32>
  %j = cs336.broadcast %j1 dims = [1] : tensor<3xf32> -> tensor<4x3xf32>
  %m1 = cs336.compare gt %i, %j : tensor<4x3xf32>
  %x = cs336.select %m1, %s, %infinity : tensor<4x3xf32>
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x3xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %d = cs336.sub %x, %m : tensor<4x3xf32>
  %e = cs336.exp %d : tensor<4x3xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x3xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %p = cs336.div %e, %z : tensor<4x3xf32>
  %o = cs336.matmul %p, %v : tensor<4x3xf32>, tensor<3x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Not (j > i or j > i + 1), and j ≤ i + 1: connected masks.
// REMARK: 1 x 4 queries x 3 keys, 1 head of 8, causal
// CHECK-LABEL: func.func @connected(
// CHECK: cs336.attention {{.*}} {causal,
func.func @connected(%q: tensor<4x8xf32>, %k: tensor<3x8xf32>, %v: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<3x8xf32> -> tensor<4x3xf32>
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x3xf32>
  %i = cs336.iota axis = 0 : tensor<4x3xi64>
  %j = cs336.iota axis = 1 : tensor<4x3xi64>
  %one = cs336.constant dense<1> : tensor<4x3xi64>
  %next = cs336.add %i, %one : tensor<4x3xi64>
  %after = cs336.compare gt %j, %i : tensor<4x3xi64>
  %later = cs336.compare gt %j, %next : tensor<4x3xi64>
  %hidden = cs336.or %after, %later : tensor<4x3xi1>
  %visible = cs336.not %hidden : tensor<4x3xi1>
  %near = cs336.compare ge %next, %j : tensor<4x3xi64>
  %m1 = cs336.and %visible, %near : tensor<4x3xi1>
  %x = cs336.select %m1, %s, %infinity : tensor<4x3xf32>
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x3xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %d = cs336.sub %x, %m : tensor<4x3xf32>
  %e = cs336.exp %d : tensor<4x3xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x3xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %p = cs336.div %e, %z : tensor<4x3xf32>
  %o = cs336.matmul %p, %v : tensor<4x3xf32>, tensor<3x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// not (j > i), written as a selection.
// REMARK: 1 x 4 queries x 3 keys, 1 head of 8, causal
// CHECK-LABEL: func.func @negated(
// CHECK: cs336.attention {{.*}} {causal,
func.func @negated(%q: tensor<4x8xf32>, %k: tensor<3x8xf32>, %v: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<3x8xf32> -> tensor<4x3xf32>
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x3xf32>
  %i = cs336.iota axis = 0 : tensor<4x3xi64>
  %j = cs336.iota axis = 1 : tensor<4x3xi64>
  %after = cs336.compare gt %j, %i : tensor<4x3xi64>
  %no = cs336.constant dense<false> : tensor<4x3xi1>
  %yes = cs336.constant dense<true> : tensor<4x3xi1>
  %m1 = cs336.select %after, %no, %yes : tensor<4x3xi1>
  %x = cs336.select %m1, %s, %infinity : tensor<4x3xf32>
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x3xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %d = cs336.sub %x, %m : tensor<4x3xf32>
  %e = cs336.exp %d : tensor<4x3xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x3xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  %p = cs336.div %e, %z : tensor<4x3xf32>
  %o = cs336.matmul %p, %v : tensor<4x3xf32>, tensor<3x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The last query sees all keys: a mask that hides nothing is dropped.
// REMARK: 1 x 1 queries x 3 keys, 1 head of 8, not causal
// CHECK-LABEL: func.func @last_query(
// CHECK: cs336.attention {{.*}} {scale
func.func @last_query(%q: tensor<1x8xf32>, %k: tensor<3x8xf32>, %v: tensor<3x8xf32>) -> tensor<1x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<1x8xf32>, tensor<3x8xf32> -> tensor<1x3xf32>
  %infinity = cs336.constant dense<0xFF800000> : tensor<1x3xf32>
  %i0 = cs336.iota axis = 0 : tensor<1x3xi64>
  %last = cs336.constant dense<2> : tensor<1x3xi64>
  %i = cs336.add %i0, %last : tensor<1x3xi64>
  %j = cs336.iota axis = 1 : tensor<1x3xi64>
  %m1 = cs336.compare ge %i, %j : tensor<1x3xi64>
  %x = cs336.select %m1, %s, %infinity : tensor<1x3xf32>
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<1x3xf32> -> tensor<1xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<1xf32> -> tensor<1x3xf32>
  %d = cs336.sub %x, %m : tensor<1x3xf32>
  %e = cs336.exp %d : tensor<1x3xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<1x3xf32> -> tensor<1xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<1xf32> -> tensor<1x3xf32>
  %p = cs336.div %e, %z : tensor<1x3xf32>
  %o = cs336.matmul %p, %v : tensor<1x3xf32>, tensor<3x8xf32> -> tensor<1x8xf32>
  return %o : tensor<1x8xf32>
}

// -----

// Groups of query heads that share a key head, on an axis of their own; keys and values are read once.
// REMARK: 2 x 4 queries x 6 keys, 6 heads of 8 on 2, not causal
// CHECK-LABEL: func.func @groups(
// CHECK-NOT: cs336.broadcast
// CHECK: cs336.attention %{{.*}} : tensor<2x4x6x8xf32>, tensor<2x6x2x8xf32> -> tensor<2x6x4xf32>
func.func @groups(%q: tensor<2x2x3x4x8xf32>, %k0: tensor<2x2x6x8xf32>, %v0: tensor<2x2x6x8xf32>) -> tensor<2x2x3x4x8xf32> {
  %k = cs336.broadcast %k0 dims = [0, 1, 3, 4] : tensor<2x2x6x8xf32> -> tensor<2x2x3x6x8xf32>
  %v = cs336.broadcast %v0 dims = [0, 1, 3, 4] : tensor<2x2x6x8xf32> -> tensor<2x2x3x6x8xf32>
  %x = cs336.matmul %q, %k {transpose_b} : tensor<2x2x3x4x8xf32>, tensor<2x2x3x6x8xf32> -> tensor<2x2x3x4x6xf32>
  %m0 = cs336.reduce max %x axes = [4] {stop_gradient} : tensor<2x2x3x4x6xf32> -> tensor<2x2x3x4xf32>
  %m = cs336.broadcast %m0 dims = [0, 1, 2, 3] : tensor<2x2x3x4xf32> -> tensor<2x2x3x4x6xf32>
  %d = cs336.sub %x, %m : tensor<2x2x3x4x6xf32>
  %e = cs336.exp %d : tensor<2x2x3x4x6xf32>
  %z0 = cs336.reduce sum %e axes = [4] : tensor<2x2x3x4x6xf32> -> tensor<2x2x3x4xf32>
  %z = cs336.broadcast %z0 dims = [0, 1, 2, 3] : tensor<2x2x3x4xf32> -> tensor<2x2x3x4x6xf32>
  %p = cs336.div %e, %z : tensor<2x2x3x4x6xf32>
  %o = cs336.matmul %p, %v : tensor<2x2x3x4x6xf32>, tensor<2x2x3x6x8xf32> -> tensor<2x2x3x4x8xf32>
  return %o : tensor<2x2x3x4x8xf32>
}

// -----

// Groups whose axis is merged into that of heads, as repeat_interleave leaves them.
// REMARK: 2 x 5 queries x 6 keys, 4 heads of 8 on 2, not causal
// CHECK-LABEL: func.func @repeated(
// CHECK-NOT: cs336.broadcast
// CHECK: cs336.attention %{{.*}} : tensor<2x5x4x8xf32>, tensor<2x6x2x8xf32> -> tensor<2x4x5xf32>
// CHECK-NEXT: cs336.transpose %{{.*}} perm = [0, 2, 1, 3]
func.func @repeated(%q: tensor<2x4x5x8xf32>, %k0: tensor<2x2x6x8xf32>, %v0: tensor<2x2x6x8xf32>) -> tensor<2x4x5x8xf32> {
  %k1 = cs336.broadcast %k0 dims = [0, 1, 3, 4] : tensor<2x2x6x8xf32> -> tensor<2x2x2x6x8xf32>
  %k = cs336.reshape %k1 : tensor<2x2x2x6x8xf32> -> tensor<2x4x6x8xf32>
  %v1 = cs336.broadcast %v0 dims = [0, 1, 3, 4] : tensor<2x2x6x8xf32> -> tensor<2x2x2x6x8xf32>
  %v = cs336.reshape %v1 : tensor<2x2x2x6x8xf32> -> tensor<2x4x6x8xf32>
  %x = cs336.matmul %q, %k {transpose_b} : tensor<2x4x5x8xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x5x6xf32>
  %m0 = cs336.reduce max %x axes = [3] {stop_gradient} : tensor<2x4x5x6xf32> -> tensor<2x4x5xf32>
  %m = cs336.broadcast %m0 dims = [0, 1, 2] : tensor<2x4x5xf32> -> tensor<2x4x5x6xf32>
  %d = cs336.sub %x, %m : tensor<2x4x5x6xf32>
  %e = cs336.exp %d : tensor<2x4x5x6xf32>
  %z0 = cs336.reduce sum %e axes = [3] : tensor<2x4x5x6xf32> -> tensor<2x4x5xf32>
  %z = cs336.broadcast %z0 dims = [0, 1, 2] : tensor<2x4x5xf32> -> tensor<2x4x5x6xf32>
  %p = cs336.div %e, %z : tensor<2x4x5x6xf32>
  %o = cs336.matmul %p, %v : tensor<2x4x5x6xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x5x8xf32>
  return %o : tensor<2x4x5x8xf32>
}

// One key head for all query heads.
// REMARK: 2 x 5 queries x 6 keys, 4 heads of 8 on 1, not causal
// CHECK-LABEL: func.func @one_key_head(
// CHECK: cs336.attention %{{.*}} : tensor<2x5x4x8xf32>, tensor<2x6x1x8xf32> -> tensor<2x4x5xf32>
func.func @one_key_head(%q: tensor<2x4x5x8xf32>, %k0: tensor<2x6x8xf32>, %v0: tensor<2x6x8xf32>) -> tensor<2x4x5x8xf32> {
  %k = cs336.broadcast %k0 dims = [0, 2, 3] : tensor<2x6x8xf32> -> tensor<2x4x6x8xf32>
  %v = cs336.broadcast %v0 dims = [0, 2, 3] : tensor<2x6x8xf32> -> tensor<2x4x6x8xf32>
  %x = cs336.matmul %q, %k {transpose_b} : tensor<2x4x5x8xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x5x6xf32>
  %m0 = cs336.reduce max %x axes = [3] {stop_gradient} : tensor<2x4x5x6xf32> -> tensor<2x4x5xf32>
  %m = cs336.broadcast %m0 dims = [0, 1, 2] : tensor<2x4x5xf32> -> tensor<2x4x5x6xf32>
  %d = cs336.sub %x, %m : tensor<2x4x5x6xf32>
  %e = cs336.exp %d : tensor<2x4x5x6xf32>
  %z0 = cs336.reduce sum %e axes = [3] : tensor<2x4x5x6xf32> -> tensor<2x4x5xf32>
  %z = cs336.broadcast %z0 dims = [0, 1, 2] : tensor<2x4x5xf32> -> tensor<2x4x5x6xf32>
  %p = cs336.div %e, %z : tensor<2x4x5x6xf32>
  %o = cs336.matmul %p, %v : tensor<2x4x5x6xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x5x8xf32>
  return %o : tensor<2x4x5x8xf32>
}

// Keys of one matrix for all, values of their own: nothing is shared that both must have.
// REMARK: 2 x 5 queries x 6 keys, 4 heads of 8, not causal
// CHECK-LABEL: func.func @keys_alone(
// CHECK: cs336.broadcast %arg1 dims = [2, 3] : tensor<6x8xf32> -> tensor<2x4x6x8xf32>
// CHECK: cs336.attention %{{.*}} : tensor<2x5x4x8xf32>, tensor<2x6x4x8xf32> -> tensor<2x4x5xf32>
func.func @keys_alone(%q: tensor<2x4x5x8xf32>, %k: tensor<6x8xf32>, %v: tensor<2x4x6x8xf32>) -> tensor<2x4x5x8xf32> {
  %x = cs336.matmul %q, %k {transpose_b} : tensor<2x4x5x8xf32>, tensor<6x8xf32> -> tensor<2x4x5x6xf32>
  %m0 = cs336.reduce max %x axes = [3] {stop_gradient} : tensor<2x4x5x6xf32> -> tensor<2x4x5xf32>
  %m = cs336.broadcast %m0 dims = [0, 1, 2] : tensor<2x4x5xf32> -> tensor<2x4x5x6xf32>
  %d = cs336.sub %x, %m : tensor<2x4x5x6xf32>
  %e = cs336.exp %d : tensor<2x4x5x6xf32>
  %z0 = cs336.reduce sum %e axes = [3] : tensor<2x4x5x6xf32> -> tensor<2x4x5xf32>
  %z = cs336.broadcast %z0 dims = [0, 1, 2] : tensor<2x4x5xf32> -> tensor<2x4x5x6xf32>
  %p = cs336.div %e, %z : tensor<2x4x5x6xf32>
  %o = cs336.matmul %p, %v : tensor<2x4x5x6xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x5x8xf32>
  return %o : tensor<2x4x5x8xf32>
}

// Two attentions, the second of which takes the first's result for its scores' factor: both are fused.
// REMARK: "first"{{.*}}2 x 6 queries x 6 keys
// REMARK: "second"{{.*}}2 x 6 queries x 6 keys
// CHECK-LABEL: func.func @twice(
// CHECK: %[[A:.*]], %{{.*}} = cs336.attention
// CHECK: cs336.attention %[[A]], %[[A]], %[[A]] {
// CHECK-NOT: cs336.matmul
func.func @twice(%q: tensor<2x6x8xf32>) -> tensor<2x6x8xf32> {
  %x = cs336.matmul %q, %q {transpose_b} : tensor<2x6x8xf32>, tensor<2x6x8xf32> -> tensor<2x6x6xf32>
  %m0 = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x6x6xf32> -> tensor<2x6xf32>
  %m = cs336.broadcast %m0 dims = [0, 1] : tensor<2x6xf32> -> tensor<2x6x6xf32>
  %d = cs336.sub %x, %m : tensor<2x6x6xf32>
  %e = cs336.exp %d : tensor<2x6x6xf32>
  %z0 = cs336.reduce sum %e axes = [2] : tensor<2x6x6xf32> -> tensor<2x6xf32>
  %z = cs336.broadcast %z0 dims = [0, 1] : tensor<2x6xf32> -> tensor<2x6x6xf32>
  %p = cs336.div %e, %z : tensor<2x6x6xf32>
  %o = cs336.matmul %p, %q : tensor<2x6x6xf32>, tensor<2x6x8xf32> -> tensor<2x6x8xf32> loc("first")
  %x2 = cs336.matmul %o, %o {transpose_b} : tensor<2x6x8xf32>, tensor<2x6x8xf32> -> tensor<2x6x6xf32>
  %n0 = cs336.reduce max %x2 axes = [2] {stop_gradient} : tensor<2x6x6xf32> -> tensor<2x6xf32>
  %n = cs336.broadcast %n0 dims = [0, 1] : tensor<2x6xf32> -> tensor<2x6x6xf32>
  %d2 = cs336.sub %x2, %n : tensor<2x6x6xf32>
  %e2 = cs336.exp %d2 : tensor<2x6x6xf32>
  %y0 = cs336.reduce sum %e2 axes = [2] : tensor<2x6x6xf32> -> tensor<2x6xf32>
  %y = cs336.broadcast %y0 dims = [0, 1] : tensor<2x6xf32> -> tensor<2x6x6xf32>
  %p2 = cs336.div %e2, %y : tensor<2x6x6xf32>
  %o2 = cs336.matmul %p2, %o : tensor<2x6x6xf32>, tensor<2x6x8xf32> -> tensor<2x6x8xf32> loc("second")
  return %o2 : tensor<2x6x8xf32>
}

// -----

// An attention whose result has no users is erased together with the operations that it replaces.
// REMARK: 1 x 5 queries x 7 keys, 1 head of 8, not causal
// CHECK-LABEL: func.func @unused(
// CHECK-NEXT: return %arg0
func.func @unused(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %x = cs336.matmul %q, %k {transpose_b} : tensor<5x8xf32>, tensor<7x8xf32> -> tensor<5x7xf32>
  %p = cs336.softmax %x : tensor<5x7xf32>
  %o = cs336.matmul %p, %v : tensor<5x7xf32>, tensor<7x8xf32> -> tensor<5x8xf32>
  return %q : tensor<5x8xf32>
}
