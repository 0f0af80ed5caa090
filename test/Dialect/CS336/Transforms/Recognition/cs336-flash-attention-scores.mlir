// Scores that are more than scale and mask become the region of the attention.

// RUN: cs336-opt %s --split-input-file --cs336-flash-attention --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --cs336-flash-attention -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --split-input-file --cs336-flash-attention -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: cs336-opt %s --split-input-file --cs336-flash-attention --remarks-filter=cs336-flash-attention --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A mask from data is read as a table.
// REMARK: "values"{{.*}}Fused{{.*}}1 table
// CHECK-LABEL: func.func @data_mask(
// CHECK: cs336.attention {{.*}}score(%arg3 : tensor<4x4xi1>)
// CHECK: %[[MASK:.*]] = cs336.element %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x4xi1>
// CHECK: cs336.select %[[MASK]], %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: cs336.yield
func.func @data_mask(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %mask: tensor<4x4xi1>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// A mask that compares indices with data.
// REMARK: "values"{{.*}}Fused{{.*}}1 table
// CHECK-LABEL: func.func @lengths_mask(
// CHECK: cs336.attention {{.*}}score(%arg3 : tensor<4x4xi32>)
// CHECK: %[[LENGTH:.*]] = cs336.element
// CHECK: cs336.compare lt %{{.*}}, %[[LENGTH]] : tensor<i32>
// CHECK: cs336.yield
func.func @lengths_mask(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %lengths: tensor<4x4xi32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %mask = cs336.compare lt %j, %lengths : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// A bias is added.
// REMARK: "values"{{.*}}Fused{{.*}}1 table
// CHECK-LABEL: func.func @data_bias(
// CHECK: cs336.attention {{.*}}score(%arg3 : tensor<4x4xf32>)
// CHECK: %[[BIAS:.*]] = cs336.element
// CHECK: cs336.add %{{.*}}, %[[BIAS]] : tensor<f32>
// CHECK: cs336.yield
func.func @data_bias(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %bias: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %x = cs336.add %s, %bias : tensor<4x4xf32> loc("bias")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// The scores of one query depend on the key alone, but are not a table.
// REMARK: "values"{{.*}}Fused{{.*}}1 table
// CHECK-LABEL: func.func @one_query(
// CHECK: %[[BIAS:.*]] = cs336.reshape %arg3 : tensor<1x4xf32> -> tensor<4xf32>
// CHECK: cs336.attention {{.*}}score(%[[BIAS]] : tensor<4xf32>)
// CHECK-NEXT: ^bb0(%[[SCORE:[a-z0-9]*]]:
// CHECK: %[[ELEMENT:.*]] = cs336.element
// CHECK: cs336.add %[[SCORE]], %[[ELEMENT]] : tensor<f32>
// CHECK: cs336.yield
func.func @one_query(%q: tensor<1x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %bias: tensor<1x4xf32>) -> tensor<1x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<1x8xf32>, tensor<4x8xf32> -> tensor<1x4xf32> loc("scores")
  %x = cs336.add %s, %bias : tensor<1x4xf32> loc("bias")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<1x4xf32> -> tensor<1xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<1xf32> -> tensor<1x4xf32>
  %d = cs336.sub %x, %m : tensor<1x4xf32>
  %e = cs336.exp %d : tensor<1x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<1x4xf32> -> tensor<1xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<1xf32> -> tensor<1x4xf32>
  %p = cs336.div %e, %z : tensor<1x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<1x4xf32>, tensor<4x8xf32> -> tensor<1x8xf32> loc("values")
  return %o : tensor<1x8xf32>
}

// -----

// A query does not see itself.
// REMARK: "values"{{.*}}Fused{{.*}}at most 6 of 16 pairs
// CHECK-LABEL: func.func @strict(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.constant dense<1> : tensor<i32>
// CHECK: cs336.compare ge
// CHECK: cs336.select
// CHECK: cs336.yield
func.func @strict(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %i = cs336.iota axis = 0 : tensor<4x4xi32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %mask = cs336.compare gt %i, %j : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// A query sees the next key. The mask becomes one comparison of the distance, however it is written.
// REMARK: "values"{{.*}}Fused{{.*}}at most 13 of 16 pairs
// CHECK-LABEL: func.func @next(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.constant dense<-1> : tensor<i32>
// CHECK: cs336.compare ge
// CHECK: cs336.yield
func.func @next(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %i = cs336.iota axis = 0 : tensor<4x4xi32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %one = cs336.constant dense<1> : tensor<4x4xi32>
  %i1 = cs336.add %i, %one : tensor<4x4xi32>
  %mask = cs336.compare ge %i1, %j : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Queries see the keys from their own on.
// REMARK: "values"{{.*}}Fused{{.*}}at most 10 of 16 pairs
// CHECK-LABEL: func.func @reversed(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.constant dense<0> : tensor<i32>
// CHECK: cs336.compare le
// CHECK: cs336.yield
func.func @reversed(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %i = cs336.iota axis = 0 : tensor<4x4xi32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %mask = cs336.compare le %i, %j : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Queries see their own keys only.
// REMARK: "values"{{.*}}Fused{{.*}}at most 4 of 16 pairs
// CHECK-LABEL: func.func @diagonal(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.compare ge
// CHECK: cs336.compare le
// CHECK: cs336.and
// CHECK: cs336.yield
func.func @diagonal(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %i = cs336.iota axis = 0 : tensor<4x4xi32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %mask = cs336.compare eq %i, %j : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// The last key is hidden from all.
// REMARK: "values"{{.*}}Fused{{.*}}with a score function"
// CHECK-LABEL: func.func @padding(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.constant dense<3> : tensor<i32>
// CHECK: cs336.compare lt
// CHECK: cs336.yield
func.func @padding(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %three = cs336.constant dense<3> : tensor<4x4xi32>
  %mask = cs336.compare lt %j, %three : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// A table that is causal but for one pair.
// REMARK: "values"{{.*}}Fused{{.*}}1 table
// CHECK-LABEL: func.func @table(
// CHECK: cs336.attention {{.*}}score(%{{.*}} : tensor<4x4xi1>)
// CHECK: cs336.element
// CHECK: cs336.yield
func.func @table(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %mask = cs336.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, true], [true, true, true, true]]> : tensor<4x4xi1>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// j ≤ 2i.
// REMARK: "values"{{.*}}Fused{{.*}}with a score function"
// CHECK-LABEL: func.func @scaled_index(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.add %[[I:.*]], %[[I]] : tensor<i32>
// CHECK: cs336.compare ge
// CHECK: cs336.yield
func.func @scaled_index(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %i = cs336.iota axis = 0 : tensor<4x4xi32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %i2 = cs336.add %i, %i : tensor<4x4xi32>
  %mask = cs336.compare ge %i2, %j : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Indices that wrap around.
// REMARK: "values"{{.*}}Fused{{.*}}with a score function"
// CHECK-LABEL: func.func @wraps(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.constant dense<2147483647> : tensor<i32>
// CHECK: cs336.yield
func.func @wraps(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %i = cs336.iota axis = 0 : tensor<4x4xi32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %large = cs336.constant dense<2147483647> : tensor<4x4xi32>
  %i1 = cs336.add %i, %large : tensor<4x4xi32>
  %j1 = cs336.add %j, %large : tensor<4x4xi32>
  %mask = cs336.compare ge %i1, %j1 : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %infinity : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Hidden scores are finite, and count in rows without larger ones.
// REMARK: "values"{{.*}}Fused{{.*}}with a score function"
// CHECK-LABEL: func.func @finite(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.constant dense<-1.000000e+09> : tensor<f32>
// CHECK: cs336.select
// CHECK: cs336.yield
func.func @finite(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %low = cs336.constant dense<-1.0e+09> : tensor<4x4xf32>
  %i = cs336.iota axis = 0 : tensor<4x4xi32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %mask = cs336.compare ge %i, %j : tensor<4x4xi32>
  %x = cs336.select %mask, %s, %low : tensor<4x4xf32> loc("mask")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// A scale that is not positive.
// REMARK: "values"{{.*}}Fused{{.*}}with a score function"
// CHECK-LABEL: func.func @negative(
// CHECK: cs336.attention {{.*}}{{[{]}}scale = 1.000000e+00 : f64{{[}]}}
// CHECK: cs336.constant dense<-1.000000e+00> : tensor<f32>
// CHECK: cs336.mul
// CHECK: cs336.yield
func.func @negative(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %minus = cs336.constant dense<-1.0> : tensor<4x4xf32>
  %x = cs336.mul %s, %minus : tensor<4x4xf32> loc("scale")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// A function of scores.
// REMARK: "values"{{.*}}Fused{{.*}}with a score function"
// CHECK-LABEL: func.func @cap(
// CHECK: cs336.attention {{.*}}score()
// CHECK: cs336.tanh %{{.*}} : tensor<f32>
// CHECK: cs336.yield
func.func @cap(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %x = cs336.tanh %s : tensor<4x4xf32> loc("cap")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// A linear bias per query head (ALiBi), with slopes from a parameter. The causal mask and the scale stay outside of the
// region, and keys are read through the repetition for groups.
// REMARK: "values"{{.*}}2 x 6 queries x 6 keys, 4 heads of 8 on 2, causal, with a score function of 1 table that shows at most 21 of 36 pairs
// CHECK-LABEL: func.func @linear_bias(
// CHECK: cs336.attention {{.*}} {causal, scale = 0.353553{{.*}}} : tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32> -> tensor<2x4x6xf32> score(%arg3 : tensor<4xf32>)
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>, %{{.*}}: tensor<i32>, %[[H:.*]]: tensor<i32>, %[[I:.*]]: tensor<i32>, %[[J:.*]]: tensor<i32>, %[[T:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[SLOPE:.*]] = cs336.element %[[T]][%[[H]]] : tensor<4xf32>
// CHECK-NEXT: %[[D:.*]] = cs336.sub %[[J]], %[[I]] : tensor<i32>
// CHECK-NEXT: %[[N:.*]] = cs336.cast %[[D]] : tensor<i32> -> tensor<f32>
// CHECK-NEXT: %[[B:.*]] = cs336.mul %[[SLOPE]], %[[N]] : tensor<f32>
// CHECK-NEXT: %[[R:.*]] = cs336.add %[[S]], %[[B]] : tensor<f32>
// CHECK-NEXT: cs336.yield %[[R]] : tensor<f32>
func.func @linear_bias(%arg0: tensor<2x6x32xf32>, %arg1: tensor<2x6x16xf32>, %arg2: tensor<2x6x16xf32>, %arg3: tensor<4xf32>) -> tensor<2x6x32xf32> {
  %0 = cs336.reshape %arg0 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %1 = cs336.transpose %0 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %2 = cs336.reshape %arg1 : tensor<2x6x16xf32> -> tensor<2x6x2x8xf32>
  %3 = cs336.transpose %2 perm = [0, 2, 1, 3] : tensor<2x6x2x8xf32> -> tensor<2x2x6x8xf32>
  %4 = cs336.broadcast %3 dims = [0, 1, 3, 4] : tensor<2x2x6x8xf32> -> tensor<2x2x2x6x8xf32>
  %5 = cs336.reshape %4 : tensor<2x2x2x6x8xf32> -> tensor<2x4x6x8xf32>
  %6 = cs336.reshape %arg2 : tensor<2x6x16xf32> -> tensor<2x6x2x8xf32>
  %7 = cs336.transpose %6 perm = [0, 2, 1, 3] : tensor<2x6x2x8xf32> -> tensor<2x2x6x8xf32>
  %8 = cs336.broadcast %7 dims = [0, 1, 3, 4] : tensor<2x2x6x8xf32> -> tensor<2x2x2x6x8xf32>
  %9 = cs336.reshape %8 : tensor<2x2x2x6x8xf32> -> tensor<2x4x6x8xf32>
  %10 = cs336.constant dense<3.53553390593273786e-01> : tensor<2x4x6x6xf32>
  %11 = cs336.matmul %1, %5 {transpose_b} : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x6x6xf32>
  %12 = cs336.mul %11, %10 : tensor<2x4x6x6xf32>
  %13 = cs336.iota axis = 1 : tensor<6x6xi32>
  %14 = cs336.iota axis = 0 : tensor<6x6xi32>
  %15 = cs336.sub %13, %14 : tensor<6x6xi32>
  %16 = cs336.cast %15 : tensor<6x6xi32> -> tensor<6x6xf32>
  %17 = cs336.broadcast %arg3 dims = [1] : tensor<4xf32> -> tensor<2x4x6x6xf32>
  %18 = cs336.broadcast %16 dims = [2, 3] : tensor<6x6xf32> -> tensor<2x4x6x6xf32>
  %19 = cs336.mul %17, %18 : tensor<2x4x6x6xf32>
  %20 = cs336.add %12, %19 : tensor<2x4x6x6xf32>
  %21 = cs336.iota axis = 0 : tensor<6x6xi32>
  %22 = cs336.iota axis = 1 : tensor<6x6xi32>
  %23 = cs336.compare ge %21, %22 : tensor<6x6xi32>
  %24 = cs336.broadcast %23 dims = [2, 3] : tensor<6x6xi1> -> tensor<2x4x6x6xi1>
  %25 = cs336.constant dense<0xFF800000> : tensor<2x4x6x6xf32>
  %26 = cs336.select %24, %20, %25 : tensor<2x4x6x6xf32>
  %27 = cs336.reduce max %26 axes = [3] : tensor<2x4x6x6xf32> -> tensor<2x4x6xf32>
  %28 = cs336.broadcast %27 dims = [0, 1, 2] : tensor<2x4x6xf32> -> tensor<2x4x6x6xf32>
  %29 = cs336.sub %26, %28 : tensor<2x4x6x6xf32>
  %30 = cs336.exp %29 : tensor<2x4x6x6xf32>
  %31 = cs336.reduce sum %30 axes = [3] : tensor<2x4x6x6xf32> -> tensor<2x4x6xf32>
  %32 = cs336.broadcast %31 dims = [0, 1, 2] : tensor<2x4x6xf32> -> tensor<2x4x6x6xf32>
  %33 = cs336.div %30, %32 : tensor<2x4x6x6xf32>
  %34 = cs336.matmul %33, %9 : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x6x8xf32> loc("values")
  %35 = cs336.transpose %34 perm = [0, 2, 1, 3] : tensor<2x4x6x8xf32> -> tensor<2x6x4x8xf32>
  %36 = cs336.reshape %35 : tensor<2x6x4x8xf32> -> tensor<2x6x32xf32>
  return %36 : tensor<2x6x32xf32>
}

// -----

// A relative bias by head and distance. The lookup is computed again, because its index is provably in bounds.
// CHECK-LABEL: func.func @bias_table(
// CHECK: cs336.attention {{.*}} score(%arg3 : tensor<5x4xf32>)
// CHECK: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<i32>, %[[H:.*]]: tensor<i32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>, %[[T:.*]]: tensor<5x4xf32>):
// CHECK: %[[ROW:.*]] = cs336.add
// CHECK-NEXT: cs336.element %[[T]][%[[ROW]], %[[H]]] : tensor<5x4xf32>
func.func @bias_table(%arg0: tensor<2x6x32xf32>, %arg1: tensor<2x6x32xf32>, %arg2: tensor<2x6x32xf32>, %arg3: tensor<5x4xf32>) -> tensor<2x6x32xf32> {
  %0 = cs336.reshape %arg0 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %1 = cs336.transpose %0 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %2 = cs336.reshape %arg1 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %3 = cs336.transpose %2 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %4 = cs336.reshape %arg2 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %5 = cs336.transpose %4 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %6 = cs336.constant dense<3.53553390593273786e-01> : tensor<2x4x6x6xf32>
  %7 = cs336.matmul %1, %3 {transpose_b} : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x6x6xf32>
  %8 = cs336.mul %7, %6 : tensor<2x4x6x6xf32>
  %9 = cs336.iota axis = 1 : tensor<6x6xi32>
  %10 = cs336.iota axis = 0 : tensor<6x6xi32>
  %11 = cs336.sub %9, %10 : tensor<6x6xi32>
  %12 = cs336.constant dense<-2> : tensor<6x6xi32>
  %13 = cs336.max %11, %12 : tensor<6x6xi32>
  %14 = cs336.constant dense<2> : tensor<6x6xi32>
  %15 = cs336.min %13, %14 : tensor<6x6xi32>
  %16 = cs336.constant dense<2> : tensor<6x6xi32>
  %17 = cs336.add %15, %16 : tensor<6x6xi32>
  %18 = cs336.embedding %arg3, %17 : tensor<5x4xf32>, tensor<6x6xi32> -> tensor<6x6x4xf32>
  %19 = cs336.transpose %18 perm = [2, 0, 1] : tensor<6x6x4xf32> -> tensor<4x6x6xf32>
  %20 = cs336.broadcast %19 dims = [1, 2, 3] : tensor<4x6x6xf32> -> tensor<2x4x6x6xf32>
  %21 = cs336.add %8, %20 : tensor<2x4x6x6xf32>
  %22 = cs336.reduce max %21 axes = [3] : tensor<2x4x6x6xf32> -> tensor<2x4x6xf32>
  %23 = cs336.broadcast %22 dims = [0, 1, 2] : tensor<2x4x6xf32> -> tensor<2x4x6x6xf32>
  %24 = cs336.sub %21, %23 : tensor<2x4x6x6xf32>
  %25 = cs336.exp %24 : tensor<2x4x6x6xf32>
  %26 = cs336.reduce sum %25 axes = [3] : tensor<2x4x6x6xf32> -> tensor<2x4x6xf32>
  %27 = cs336.broadcast %26 dims = [0, 1, 2] : tensor<2x4x6xf32> -> tensor<2x4x6x6xf32>
  %28 = cs336.div %25, %27 : tensor<2x4x6x6xf32>
  %29 = cs336.matmul %28, %5 : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x6x8xf32> loc("values")
  %30 = cs336.transpose %29 perm = [0, 2, 1, 3] : tensor<2x4x6x8xf32> -> tensor<2x6x4x8xf32>
  %31 = cs336.reshape %30 : tensor<2x6x4x8xf32> -> tensor<2x6x32xf32>
  return %31 : tensor<2x6x32xf32>
}

// -----

// A soft cap, whose division joins the scale, and documents by segment ids.
// CHECK-LABEL: func.func @documents(
// CHECK: cs336.attention {{.*}} {scale = 0.176776{{.*}}}{{.*}} score(%arg3 : tensor<2x6xi32>)
// CHECK: ^bb0(%[[S:.*]]: tensor<f32>, %[[B:.*]]: tensor<i32>, %{{.*}}: tensor<i32>, %[[I:.*]]: tensor<i32>, %[[J:.*]]: tensor<i32>, %[[T:.*]]: tensor<2x6xi32>):
// CHECK-NEXT: %[[OWN:.*]] = cs336.element %[[T]][%[[B]], %[[I]]]
// CHECK-NEXT: %[[OTHER:.*]] = cs336.element %[[T]][%[[B]], %[[J]]]
// CHECK-NEXT: %[[SAME:.*]] = cs336.compare eq %[[OWN]], %[[OTHER]]
// CHECK-NEXT: cs336.tanh %[[S]]
// CHECK: cs336.select %[[SAME]]
func.func @documents(%arg0: tensor<2x6x32xf32>, %arg1: tensor<2x6x32xf32>, %arg2: tensor<2x6x32xf32>, %arg3: tensor<2x6xi32>) -> tensor<2x6x32xf32> {
  %0 = cs336.reshape %arg0 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %1 = cs336.transpose %0 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %2 = cs336.reshape %arg1 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %3 = cs336.transpose %2 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %4 = cs336.reshape %arg2 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %5 = cs336.transpose %4 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %6 = cs336.constant dense<3.53553390593273786e-01> : tensor<2x4x6x6xf32>
  %7 = cs336.matmul %1, %3 {transpose_b} : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x6x6xf32>
  %8 = cs336.mul %7, %6 : tensor<2x4x6x6xf32>
  %9 = cs336.constant dense<2.00000000000000000e+00> : tensor<2x4x6x6xf32>
  %10 = cs336.div %8, %9 : tensor<2x4x6x6xf32>
  %11 = cs336.tanh %10 : tensor<2x4x6x6xf32>
  %12 = cs336.constant dense<2.00000000000000000e+00> : tensor<2x4x6x6xf32>
  %13 = cs336.mul %11, %12 : tensor<2x4x6x6xf32>
  %14 = cs336.broadcast %arg3 dims = [0, 2] : tensor<2x6xi32> -> tensor<2x4x6x6xi32>
  %15 = cs336.broadcast %arg3 dims = [0, 3] : tensor<2x6xi32> -> tensor<2x4x6x6xi32>
  %16 = cs336.compare eq %14, %15 : tensor<2x4x6x6xi32>
  %17 = cs336.constant dense<0xFF800000> : tensor<2x4x6x6xf32>
  %18 = cs336.select %16, %13, %17 : tensor<2x4x6x6xf32>
  %19 = cs336.reduce max %18 axes = [3] : tensor<2x4x6x6xf32> -> tensor<2x4x6xf32>
  %20 = cs336.broadcast %19 dims = [0, 1, 2] : tensor<2x4x6xf32> -> tensor<2x4x6x6xf32>
  %21 = cs336.sub %18, %20 : tensor<2x4x6x6xf32>
  %22 = cs336.exp %21 : tensor<2x4x6x6xf32>
  %23 = cs336.reduce sum %22 axes = [3] : tensor<2x4x6x6xf32> -> tensor<2x4x6xf32>
  %24 = cs336.broadcast %23 dims = [0, 1, 2] : tensor<2x4x6xf32> -> tensor<2x4x6x6xf32>
  %25 = cs336.div %22, %24 : tensor<2x4x6x6xf32>
  %26 = cs336.matmul %25, %5 : tensor<2x4x6x6xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x6x8xf32> loc("values")
  %27 = cs336.transpose %26 perm = [0, 2, 1, 3] : tensor<2x4x6x8xf32> -> tensor<2x6x4x8xf32>
  %28 = cs336.reshape %27 : tensor<2x6x4x8xf32> -> tensor<2x6x32xf32>
  return %28 : tensor<2x6x32xf32>
}

// -----

// Queries at positions 4 and 5 of 6 keys, with a window.
// REMARK: "values"{{.*}}2 x 2 queries x 6 keys, 4 heads of 8, not causal, with a score function that shows at most 6 of 12 pairs
// CHECK-LABEL: func.func @cached(
// CHECK: cs336.constant dense<-4> : tensor<i32>
// CHECK-NEXT: cs336.compare ge
// CHECK-NEXT: cs336.constant dense<-2> : tensor<i32>
// CHECK-NEXT: cs336.compare le
func.func @cached(%arg0: tensor<2x2x32xf32>, %arg1: tensor<2x6x32xf32>, %arg2: tensor<2x6x32xf32>) -> tensor<2x2x32xf32> {
  %0 = cs336.reshape %arg0 : tensor<2x2x32xf32> -> tensor<2x2x4x8xf32>
  %1 = cs336.transpose %0 perm = [0, 2, 1, 3] : tensor<2x2x4x8xf32> -> tensor<2x4x2x8xf32>
  %2 = cs336.reshape %arg1 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %3 = cs336.transpose %2 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %4 = cs336.reshape %arg2 : tensor<2x6x32xf32> -> tensor<2x6x4x8xf32>
  %5 = cs336.transpose %4 perm = [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %6 = cs336.constant dense<3.53553390593273786e-01> : tensor<2x4x2x6xf32>
  %7 = cs336.matmul %1, %3 {transpose_b} : tensor<2x4x2x8xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x2x6xf32>
  %8 = cs336.mul %7, %6 : tensor<2x4x2x6xf32>
  %9 = cs336.iota axis = 0 : tensor<2x6xi32>
  %10 = cs336.constant dense<4> : tensor<2x6xi32>
  %11 = cs336.add %9, %10 : tensor<2x6xi32>
  %12 = cs336.iota axis = 1 : tensor<2x6xi32>
  %13 = cs336.sub %11, %12 : tensor<2x6xi32>
  %14 = cs336.constant dense<2> : tensor<2x6xi32>
  %15 = cs336.compare le %13, %14 : tensor<2x6xi32>
  %16 = cs336.constant dense<0> : tensor<2x6xi32>
  %17 = cs336.compare ge %13, %16 : tensor<2x6xi32>
  %18 = cs336.and %15, %17 : tensor<2x6xi1>
  %19 = cs336.broadcast %18 dims = [2, 3] : tensor<2x6xi1> -> tensor<2x4x2x6xi1>
  %20 = cs336.constant dense<0xFF800000> : tensor<2x4x2x6xf32>
  %21 = cs336.select %19, %8, %20 : tensor<2x4x2x6xf32>
  %22 = cs336.reduce max %21 axes = [3] : tensor<2x4x2x6xf32> -> tensor<2x4x2xf32>
  %23 = cs336.broadcast %22 dims = [0, 1, 2] : tensor<2x4x2xf32> -> tensor<2x4x2x6xf32>
  %24 = cs336.sub %21, %23 : tensor<2x4x2x6xf32>
  %25 = cs336.exp %24 : tensor<2x4x2x6xf32>
  %26 = cs336.reduce sum %25 axes = [3] : tensor<2x4x2x6xf32> -> tensor<2x4x2xf32>
  %27 = cs336.broadcast %26 dims = [0, 1, 2] : tensor<2x4x2xf32> -> tensor<2x4x2x6xf32>
  %28 = cs336.div %25, %27 : tensor<2x4x2x6xf32>
  %29 = cs336.matmul %28, %5 : tensor<2x4x2x6xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x2x8xf32> loc("values")
  %30 = cs336.transpose %29 perm = [0, 2, 1, 3] : tensor<2x4x2x8xf32> -> tensor<2x2x4x8xf32>
  %31 = cs336.reshape %30 : tensor<2x2x4x8xf32> -> tensor<2x2x32xf32>
  return %31 : tensor<2x2x32xf32>
}

// -----

// A softmax that is one operation already, with a scale and a mask that is not causal.
// CHECK-LABEL: func.func @fused_softmax(
// CHECK: cs336.attention {{.*}} {scale = 1.000000e+00 : f64}{{.*}} score(%{{.*}} : tensor<4x4xi1>)
// CHECK: cs336.mul
// CHECK: cs336.element %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x4xi1>
// CHECK: cs336.select
func.func @fused_softmax(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %mask: tensor<4x4xi1>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %p = cs336.softmax %s mask %mask {scale = 2.5e-01 : f64} : tensor<4x4xf32>, tensor<4x4xi1>
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A table with one of the axes that form the query heads is repeated along the other.
// CHECK-LABEL: func.func @groups(
// CHECK: %[[SPREAD:.*]] = cs336.broadcast %arg3 dims = [1] : tensor<2xf32> -> tensor<3x2xf32>
// CHECK: %[[TABLE:.*]] = cs336.reshape %[[SPREAD]] : tensor<3x2xf32> -> tensor<6xf32>
// CHECK: cs336.attention {{.*}} tensor<1x4x6x8xf32>, tensor<1x4x3x8xf32> -> tensor<1x6x4xf32> score(%[[TABLE]] : tensor<6xf32>)
func.func @groups(%q: tensor<1x3x2x4x8xf32>, %k0: tensor<1x3x4x8xf32>, %v0: tensor<1x3x4x8xf32>, %bias: tensor<2xf32>) -> tensor<1x3x2x4x8xf32> {
  %k = cs336.broadcast %k0 dims = [0, 1, 3, 4] : tensor<1x3x4x8xf32> -> tensor<1x3x2x4x8xf32>
  %v = cs336.broadcast %v0 dims = [0, 1, 3, 4] : tensor<1x3x4x8xf32> -> tensor<1x3x2x4x8xf32>
  %s = cs336.matmul %q, %k {transpose_b} : tensor<1x3x2x4x8xf32>, tensor<1x3x2x4x8xf32> -> tensor<1x3x2x4x4xf32>
  %spread = cs336.broadcast %bias dims = [2] : tensor<2xf32> -> tensor<1x3x2x4x4xf32>
  %x = cs336.add %s, %spread : tensor<1x3x2x4x4xf32>
  %p = cs336.softmax %x : tensor<1x3x2x4x4xf32>
  %o = cs336.matmul %p, %v : tensor<1x3x2x4x4xf32>, tensor<1x3x2x4x8xf32> -> tensor<1x3x2x4x8xf32>
  return %o : tensor<1x3x2x4x8xf32>
}

// -----

// Activations become their formulas, in the type of the scores. A bias that one computes is a table.
// REMARK: "values"{{.*}}Fused{{.*}}with a score function of 1 table
// CHECK-LABEL: func.func @activations(
// CHECK: %[[BIAS:.*]] = cs336.silu %arg3 : tensor<4x4xbf16>
// CHECK: cs336.attention {{.*}}score(%[[BIAS]] : tensor<4x4xbf16>)
// CHECK-NEXT: ^bb0(%[[SCORE:.*]]: tensor<f32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<4x4xbf16>):
// CHECK: %[[ZERO:.*]] = cs336.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[IS_LOW:.*]] = cs336.compare le %[[SCORE]], %[[ZERO]] : tensor<f32>
// CHECK: %[[RELU:.*]] = cs336.select %[[IS_LOW]], %[[ZERO]], %[[SCORE]] : tensor<f32>
// CHECK: %[[SUM:.*]] = cs336.add %[[RELU]], %{{.*}} : tensor<f32>
// CHECK: cs336.erf %{{.*}} : tensor<f32>
// CHECK-NOT: cs336.relu
// CHECK-NOT: cs336.gelu
// CHECK: cs336.yield
func.func @activations(%q: tensor<4x8xbf16>, %k: tensor<4x8xbf16>, %v: tensor<4x8xbf16>, %b: tensor<4x4xbf16>) -> tensor<4x8xbf16> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xbf16>, tensor<4x8xbf16> -> tensor<4x4xbf16> loc("scores")
  %r = cs336.relu %s : tensor<4x4xbf16>
  %bias = cs336.silu %b : tensor<4x4xbf16>
  %sum = cs336.add %r, %bias : tensor<4x4xbf16>
  %g = cs336.gelu %sum : tensor<4x4xbf16>
  %p = cs336.softmax %g : tensor<4x4xbf16> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xbf16>, tensor<4x8xbf16> -> tensor<4x8xbf16> loc("values")
  return %o : tensor<4x8xbf16>
}

// -----

// Positions below 257 are numbers of bf16. The mask needs no table: it is causal.
// CHECK-LABEL: func.func @exact_positions(
// CHECK: cs336.attention {{.*}} {causal
// CHECK-NOT: score(
func.func @exact_positions(%q: tensor<256x8xf32>, %k: tensor<256x8xf32>, %v: tensor<256x8xf32>) -> tensor<256x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<256x8xf32>, tensor<256x8xf32> -> tensor<256x256xf32>
  %i = cs336.iota axis = 0 : tensor<256x256xbf16>
  %j = cs336.iota axis = 1 : tensor<256x256xbf16>
  %mask = cs336.compare ge %i, %j : tensor<256x256xbf16>
  %p = cs336.softmax %s mask %mask : tensor<256x256xf32>, tensor<256x256xi1>
  %o = cs336.matmul %p, %v : tensor<256x256xf32>, tensor<256x8xf32> -> tensor<256x8xf32>
  return %o : tensor<256x8xf32>
}

// -----

// Others are rounded: 257 is 256. The attention reads the rounded ones.
// CHECK-LABEL: func.func @rounded_positions(
// CHECK-DAG: %[[I:.*]] = cs336.iota axis = 0 : tensor<300x300xbf16>
// CHECK-DAG: %[[J:.*]] = cs336.iota axis = 1 : tensor<300x300xbf16>
// CHECK: cs336.attention {{.*}}score(%[[I]], %[[J]] : tensor<300x300xbf16>, tensor<300x300xbf16>)
func.func @rounded_positions(%q: tensor<300x8xf32>, %k: tensor<300x8xf32>, %v: tensor<300x8xf32>) -> tensor<300x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<300x8xf32>, tensor<300x8xf32> -> tensor<300x300xf32>
  %i = cs336.iota axis = 0 : tensor<300x300xbf16>
  %j = cs336.iota axis = 1 : tensor<300x300xbf16>
  %mask = cs336.compare ge %i, %j : tensor<300x300xbf16>
  %p = cs336.softmax %s mask %mask : tensor<300x300xf32>, tensor<300x300xi1>
  %o = cs336.matmul %p, %v : tensor<300x300xf32>, tensor<300x8xf32> -> tensor<300x8xf32>
  return %o : tensor<300x8xf32>
}

// -----

// A bias that is computed in bf16 is a table, also if it depends on the distance alone.
// CHECK-LABEL: func.func @rounded_bias(
// CHECK: %[[BIAS:.*]] = cs336.mul %{{.*}} : tensor<8x8xbf16>
// CHECK: cs336.attention {{.*}}score(%[[BIAS]] : tensor<8x8xbf16>)
func.func @rounded_bias(%q: tensor<8x8xf32>, %k: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %i = cs336.iota axis = 0 : tensor<8x8xbf16>
  %j = cs336.iota axis = 1 : tensor<8x8xbf16>
  %distance = cs336.sub %j, %i : tensor<8x8xbf16>
  %slope = cs336.constant dense<3.007810e-01> : tensor<8x8xbf16>
  %product = cs336.mul %distance, %slope : tensor<8x8xbf16>
  %bias = cs336.cast %product : tensor<8x8xbf16> -> tensor<8x8xf32>
  %x = cs336.add %s, %bias : tensor<8x8xf32>
  %p = cs336.softmax %x : tensor<8x8xf32>
  %o = cs336.matmul %p, %v : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %o : tensor<8x8xf32>
}

// -----

// In a program in bf16, the bias is computed in the type of the function. A mask of rounded positions is a table.
// CHECK-LABEL: func.func @program_in_bf16(
// CHECK: %[[MASK:.*]] = cs336.compare lt {{.*}} : tensor<300x300xbf16>
// CHECK: cs336.attention {{.*}}score(%[[MASK]] : tensor<300x300xi1>)
// CHECK: cs336.mul %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: cs336.element %{{.*}}[%{{.*}}, %{{.*}}] : tensor<300x300xi1>
func.func @program_in_bf16(%q: tensor<300x8xbf16>, %k: tensor<300x8xbf16>, %v: tensor<300x8xbf16>) -> tensor<300x8xbf16> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<300x8xbf16>, tensor<300x8xbf16> -> tensor<300x300xbf16>
  %i = cs336.iota axis = 0 : tensor<300x300xbf16>
  %j = cs336.iota axis = 1 : tensor<300x300xbf16>
  %distance = cs336.sub %j, %i : tensor<300x300xbf16>
  %slope = cs336.constant dense<3.007810e-01> : tensor<300x300xbf16>
  %bias = cs336.mul %distance, %slope : tensor<300x300xbf16>
  %x = cs336.add %s, %bias : tensor<300x300xbf16>
  %limit = cs336.constant dense<6.400000e+01> : tensor<300x300xbf16>
  %mask = cs336.compare lt %distance, %limit : tensor<300x300xbf16>
  %p = cs336.softmax %x mask %mask : tensor<300x300xbf16>, tensor<300x300xi1>
  %o = cs336.matmul %p, %v : tensor<300x300xbf16>, tensor<300x8xbf16> -> tensor<300x8xbf16>
  return %o : tensor<300x8xbf16>
}

// -----

// A mask of numbers that float64 rounds is one table. What it is computed from is none.
// CHECK-LABEL: func.func @mask_of_doubles(
// CHECK: %[[MASK:.*]] = cs336.compare le {{.*}} : tensor<8x8xf64>
// CHECK: cs336.attention {{.*}}score(%[[MASK]] : tensor<8x8xi1>)
func.func @mask_of_doubles(%q: tensor<8x8xf32>, %k: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %i = cs336.iota axis = 0 : tensor<8x8xf64>
  %j = cs336.iota axis = 1 : tensor<8x8xf64>
  %tenth = cs336.constant dense<0.1> : tensor<8x8xf64>
  %a = cs336.mul %i, %tenth : tensor<8x8xf64>
  %b = cs336.mul %j, %tenth : tensor<8x8xf64>
  %difference = cs336.sub %a, %b : tensor<8x8xf64>
  %bound = cs336.constant dense<0.3> : tensor<8x8xf64>
  %mask = cs336.compare le %difference, %bound : tensor<8x8xf64>
  %zero = cs336.constant dense<0.0> : tensor<8x8xf32>
  %low = cs336.constant dense<-1.0e9> : tensor<8x8xf32>
  %bias = cs336.select %mask, %zero, %low : tensor<8x8xf32>
  %x = cs336.add %s, %bias : tensor<8x8xf32>
  %p = cs336.softmax %x : tensor<8x8xf32>
  %o = cs336.matmul %p, %v : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %o : tensor<8x8xf32>
}
