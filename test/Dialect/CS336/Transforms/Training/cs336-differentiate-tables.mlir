// The gradient of a table is computed in blocks of scores: of batches, then heads, then queries.

// RUN: cs336-opt %s --cs336-differentiate --canonicalize --cse --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-pipeline | FileCheck %s --check-prefix=PLAN --implicit-check-not=2x16x12xf32
// RUN: not cs336-opt %s --cs336-flash-attention=table-block-bytes=0 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: error: option table-block-bytes of cs336-flash-attention is 0, must be at least 1

// All scores of two heads take 1536 bytes. A block has half of the queries of one head. The table has an axis of heads,
// so the sums of the two heads are concatenated, and those of a head's two blocks are added.
// CHECK-LABEL: @by_head_and_key
// PLAN:        exec.entry @by_head_and_key
func.func @by_head_and_key(%q: tensor<1x16x2x8xf32> {cs336.kind = "parameter", cs336.name = "q"},
                           %k: tensor<1x12x1x8xf32> {cs336.kind = "parameter", cs336.name = "k"},
                           %bias: tensor<2x12xf32> {cs336.kind = "parameter", cs336.name = "bias"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK-NOT:   tensor<1x2x16x12xf32>
  // CHECK:       cs336.attention_backward
  // CHECK-NOT:   tensor<1x2x16x12xf32>
  // CHECK:       %[[S0:.*]] = cs336.reduce sum %{{.*}} axes = [0, 2] : tensor<1x1x8x12xf32> -> tensor<1x12xf32>
  // CHECK:       cs336.slice %arg0 offsets = [0, 8, 0, 0] : tensor<1x16x2x8xf32> -> tensor<1x8x1x8xf32>
  // CHECK:       %[[S1:.*]] = cs336.reduce sum %{{.*}} axes = [0, 2] : tensor<1x1x8x12xf32> -> tensor<1x12xf32>
  // CHECK-NEXT:  %[[FIRST:.*]] = cs336.add %[[S0]], %[[S1]]
  // CHECK:       cs336.slice %arg0 offsets = [0, 0, 1, 0] : tensor<1x16x2x8xf32> -> tensor<1x8x1x8xf32>
  // CHECK:       %[[S2:.*]] = cs336.reduce sum %{{.*}} axes = [0, 2] :
  // CHECK:       %[[S3:.*]] = cs336.reduce sum %{{.*}} axes = [0, 2] :
  // CHECK-NEXT:  %[[SECOND:.*]] = cs336.add %[[S2]], %[[S3]]
  // CHECK-NEXT:  %[[BIAS:.*]] = cs336.concat axis = 0 %[[FIRST]], %[[SECOND]] : tensor<1x12xf32>, tensor<1x12xf32> -> tensor<2x12xf32>
  // CHECK:       return {{.*}}, %[[BIAS]] : tensor<f32>
  %o, %lse = cs336.attention %q, %k, %k {scale = 1.0 : f64, cs336.table_block_bytes = 384 : i64}
      : tensor<1x16x2x8xf32>, tensor<1x12x1x8xf32> -> tensor<1x2x16xf32> score(%bias : tensor<2x12xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<2x12xf32>):
    %e = cs336.element %table[%h, %j] : tensor<2x12xf32>
    %y = cs336.add %s, %e : tensor<f32>
    cs336.yield %y : tensor<f32>
  }
  %loss = cs336.reduce sum %o axes = [0, 1, 2, 3] : tensor<1x16x2x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// Indices that are computed in a block come from behind a barrier, which no other block shares.
// CHECK-LABEL: @by_distance
func.func @by_distance(%q: tensor<1x8x1x8xf32> {cs336.kind = "parameter", cs336.name = "x"},
                       %bias: tensor<15xf32> {cs336.kind = "parameter", cs336.name = "distances"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK:       %[[ALL:.*]] = cs336.iota axis = 0 : tensor<8xi32>
  // CHECK:       %[[OWN0:.*]] = cs336.slice %[[ALL]] offsets = [0] : tensor<8xi32> -> tensor<4xi32>
  // CHECK:       cs336.barrier %[[OWN0]]
  // CHECK:       %[[G0:.*]] = cs336.embedding_grad %{{.*}} : tensor<1x1x4x8xi32>, tensor<1x1x4x8x1xf32> -> tensor<15x1xf32>
  // CHECK:       %[[OWN1:.*]] = cs336.slice %[[ALL]] offsets = [4] : tensor<8xi32> -> tensor<4xi32>
  // CHECK:       cs336.barrier %[[OWN1]]
  // CHECK:       %[[G1:.*]] = cs336.embedding_grad %{{.*}} : tensor<1x1x4x8xi32>, tensor<1x1x4x8x1xf32> -> tensor<15x1xf32>
  // CHECK:       cs336.add %[[G0]], %[[G1]]
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64, cs336.table_block_bytes = 128 : i64}
      : tensor<1x8x1x8xf32>, tensor<1x8x1x8xf32> -> tensor<1x1x8xf32> score(%bias : tensor<15xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<15xf32>):
    %most = cs336.constant dense<7> : tensor<i32>
    %d = cs336.sub %i, %j : tensor<i32>
    %n = cs336.add %d, %most : tensor<i32>
    %e = cs336.element %table[%n] : tensor<15xf32>
    %y = cs336.add %s, %e : tensor<f32>
    cs336.yield %y : tensor<f32>
  }
  %loss = cs336.reduce sum %o axes = [0, 1, 2, 3] : tensor<1x8x1x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
