// RUN: cs336-opt %s --cs336-differentiate --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-differentiate | FileCheck %s --check-prefix=LOC
// RUN: cs336-opt %s --cs336-differentiate --remarks-filter=cs336-differentiate --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt %s --cs336-differentiate -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --cs336-differentiate -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir

// The gradients of all uses of a value are added; each parameter has a gradient, with its name and views.
// CHECK-LABEL: @square
// CHECK-SAME: (%[[W:.*]]: tensor<2x4xf32>
// CHECK-SAME: tensor<2x4xf32> {cs336.kind = "gradient", cs336.name = "w", cs336.views = [#cs336.view<"a", 1>, #cs336.view<"b", 1>]}
func.func @square(%w: tensor<2x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.views = [#cs336.view<"a", 1>, #cs336.view<"b", 1>]})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK-NEXT: %[[Y:.*]] = cs336.mul %[[W]], %[[W]]
  // CHECK-NEXT: %[[LOSS:.*]] = cs336.reduce sum %[[Y]] axes = [0, 1]
  // CHECK-NEXT: %[[ONE:.*]] = cs336.constant dense<1.000000e+00> : tensor<f32>
  // CHECK-NEXT: %[[G:.*]] = cs336.broadcast %[[ONE]] dims = [] : tensor<f32> -> tensor<2x4xf32>
  // CHECK-NEXT: %[[L:.*]] = cs336.mul %[[G]], %[[W]]
  // CHECK-NEXT: %[[R:.*]] = cs336.mul %[[G]], %[[W]]
  // CHECK-NEXT: %[[DW:.*]] = cs336.add %[[L]], %[[R]]
  // CHECK-NEXT: return %[[LOSS]], %[[DW]] : tensor<f32>, tensor<2x4xf32>
  // LOC-LABEL: @square
  // LOC: cs336.mul {{.*}} loc(#[[FORWARD:loc.*]])
  // LOC: cs336.mul {{.*}} loc(#[[BACKWARD:loc.*]])
  // LOC: #[[FORWARD]] = loc("layers.0.square")
  // LOC: #[[BACKWARD]] = loc("backward"(#[[FORWARD]]))
  %0 = cs336.mul %w, %w : tensor<2x4xf32> loc("layers.0.square")
  %1 = cs336.reduce sum %0 axes = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// With a loss scale, the walk starts from that.
// CHECK-LABEL: @scaled
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {cs336.kind = "state", cs336.name = "loss_scale"}
func.func @scaled(%w: tensor<4xf64> {cs336.kind = "parameter", cs336.name = "w"}, %scale: tensor<f32> {cs336.kind = "state", cs336.name = "loss_scale"})
    -> (tensor<f64> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  // CHECK-NEXT: %[[LOSS:.*]] = cs336.reduce sum
  // CHECK-NEXT: %[[SEED:.*]] = cs336.cast %[[SCALE]] : tensor<f32> -> tensor<f64>
  // CHECK-NEXT: %[[DW:.*]] = cs336.broadcast %[[SEED]]
  // CHECK-NEXT: return %[[LOSS]], %[[DW]]
  %0 = cs336.reduce sum %w axes = [0] : tensor<4xf64> -> tensor<f64>
  return %0 : tensor<f64>
}

// Composites become primitives in place; operations that the loss does not depend on are not changed.
// CHECK-LABEL: @composite
func.func @composite(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<4xf32> {cs336.kind = "output", cs336.name = "other"})
    attributes {cs336.mode = #cs336.mode<train>} {
  // CHECK: cs336.silu
  // CHECK: %[[S:.*]] = cs336.sigmoid
  // CHECK: cs336.reduce sum
  // CHECK: cs336.sub %{{.*}}, %[[S]]
  // CHECK-NOT: cs336.silu
  %other = cs336.silu %w : tensor<4xf32>
  %0 = cs336.silu %w : tensor<4xf32>
  %1 = cs336.reduce sum %0 axes = [0] : tensor<4xf32> -> tensor<f32>
  return %1, %other : tensor<f32>, tensor<4xf32>
}

// Inputs, integers and predicates have no gradients; unused results of the walk are erased.
// CHECK-LABEL: @paths
// CHECK-SAME: (%[[TABLE:.*]]: tensor<9x4xf32> {{.*}}, %[[IDS:.*]]: tensor<3xi64> {{.*}}, %[[X:.*]]: tensor<3x4xf32>
func.func @paths(%table: tensor<9x4xf32> {cs336.kind = "parameter", cs336.name = "table"},
                 %ids: tensor<3xi64> {cs336.kind = "input", cs336.name = "ids"},
                 %x: tensor<3x4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK: %[[ROWS:.*]] = cs336.embedding
  // CHECK: %[[P:.*]] = cs336.compare
  // CHECK: %[[S:.*]] = cs336.select
  // CHECK: cs336.matmul %[[S]], %[[X]] {transpose_b}
  // CHECK: cs336.reduce
  // CHECK: %[[DS:.*]] = cs336.matmul %{{.*}}, %[[X]] :
  // CHECK-NEXT: %[[ZERO:.*]] = cs336.constant dense<0.000000e+00>
  // CHECK-NEXT: %[[DROWS:.*]] = cs336.select %[[P]], %[[DS]], %[[ZERO]]
  // CHECK-NEXT: %[[DTABLE:.*]] = cs336.embedding_grad %[[IDS]], %[[DROWS]]
  // CHECK-NEXT: return %{{.*}}, %[[DTABLE]]
  %0 = cs336.embedding %table, %ids : tensor<9x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %1 = cs336.compare gt %0, %x : tensor<3x4xf32>
  %2 = cs336.select %1, %0, %x : tensor<3x4xf32>
  %3 = cs336.matmul %2, %x {transpose_b} : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x3xf32>
  %4 = cs336.reduce sum %3 axes = [0, 1] : tensor<3x3xf32> -> tensor<f32>
  return %4 : tensor<f32>
}

// The gradient of a matrix that all batches share sums over their rows in one matmul, of the same precision and type.
// CHECK-LABEL: @shared_matrix
func.func @shared_matrix(%x: tensor<2x3x4xbf16> {cs336.kind = "parameter", cs336.name = "x"},
                         %w: tensor<5x4xbf16> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<bf16> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK: %[[G:.*]] = cs336.broadcast %{{.*}} dims = [] : tensor<bf16> -> tensor<2x3x5xbf16>
  // CHECK: %[[DX:.*]] = cs336.matmul %[[G]], %{{.*}} {precision = #cs336.precision<tf32>} : tensor<2x3x5xbf16>, tensor<5x4xbf16> -> tensor<2x3x4xbf16>
  // CHECK: %[[XR:.*]] = cs336.reshape %{{.*}} : tensor<2x3x4xbf16> -> tensor<6x4xbf16>
  // CHECK: %[[GR:.*]] = cs336.reshape %[[G]] : tensor<2x3x5xbf16> -> tensor<6x5xbf16>
  // CHECK: %[[DW:.*]] = cs336.matmul %[[GR]], %[[XR]] {precision = #cs336.precision<tf32>, transpose_a} : tensor<6x5xbf16>, tensor<6x4xbf16> -> tensor<5x4xbf16>
  // CHECK: return %{{.*}}, %[[DX]], %[[DW]]
  %0 = cs336.matmul %x, %w {transpose_b, precision = #cs336.precision<tf32>} : tensor<2x3x4xbf16>, tensor<5x4xbf16> -> tensor<2x3x5xbf16>
  %1 = cs336.reduce sum %0 axes = [0, 1, 2] : tensor<2x3x5xbf16> -> tensor<bf16>
  return %1 : tensor<bf16>
}

// A maximum that the loss does not depend on has no gradient; the gradient of another is divided among equal elements.
// CHECK-LABEL: @maxima
func.func @maxima(%w: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK: cs336.reduce max {{.*}} {stop_gradient}
  // CHECK: cs336.reduce max
  // CHECK: %[[EQ:.*]] = cs336.compare eq
  // CHECK: %[[ONES:.*]] = cs336.cast %[[EQ]] : tensor<4x8xi1> -> tensor<4x8xf32>
  // CHECK: %[[COUNT:.*]] = cs336.reduce sum %[[ONES]] axes = [1]
  // CHECK: %[[SHARE:.*]] = cs336.div %{{.*}}, %[[COUNT]]
  // CHECK-NOT: cs336.compare
  %0 = cs336.reduce max %w axes = [1] {stop_gradient} : tensor<4x8xf32> -> tensor<4xf32>
  %1 = cs336.reduce max %w axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = cs336.add %0, %1 : tensor<4xf32>
  %3 = cs336.reduce sum %2 axes = [0] : tensor<4xf32> -> tensor<f32>
  return %3 : tensor<f32>
}

// REMARK: "unused.weight"{{.*}}the loss does not depend on parameter 'unused': its gradient is zero
// CHECK-LABEL: @unused
func.func @unused(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"},
                  %u: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "unused"} loc("unused.weight"))
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  // CHECK: %[[ONE:.*]] = cs336.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: %[[ZERO:.*]] = cs336.constant dense<0.000000e+00> : tensor<4xf32>
  // CHECK: return %{{.*}}, %[[ONE]], %[[ZERO]]
  return %w : tensor<f32>
}

// Functions of other modes do not change.
// CHECK-LABEL: @forward
func.func @forward(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<loss>} {
  // CHECK-NEXT: %[[Y:.*]] = cs336.exp
  // CHECK-NEXT: return %[[Y]] : tensor<f32>
  %0 = cs336.exp %w : tensor<f32>
  return %0 : tensor<f32>
}

// The gradient of attention starts from its sums, with the attributes of the forward operation.
// CHECK-LABEL: @attention
func.func @attention(%q: tensor<2x5x4x16xf32> {cs336.kind = "parameter", cs336.name = "q"},
                     %k: tensor<2x7x2x16xf32> {cs336.kind = "parameter", cs336.name = "k"},
                     %v: tensor<2x7x2x16xf32> {cs336.kind = "parameter", cs336.name = "v"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK: %[[O:.*]], %[[LSE:.*]] = cs336.attention
  // CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = cs336.attention_backward %{{.*}}, %{{.*}}, %{{.*}}, %[[O]], %[[LSE]], %{{.*}} {causal, precision = #cs336.precision<tf32>, scale = 2.500000e-01 : f64}
  // CHECK: return %{{.*}}, %[[DQ]], %[[DK]], %[[DV]]
  %o, %lse = cs336.attention %q, %k, %v {scale = 2.5e-01 : f64, causal, precision = #cs336.precision<tf32>}
      : tensor<2x5x4x16xf32>, tensor<2x7x2x16xf32> -> tensor<2x4x5xf32>
  %loss = cs336.reduce sum %o axes = [0, 1, 2, 3] : tensor<2x5x4x16xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// The score function of the gradient yields its derivative too. No gradient of the table is needed, and nothing of
// [queries, keys] is left.
// CHECK-LABEL: @score_function
func.func @score_function(%q: tensor<2x5x4x16xf32> {cs336.kind = "parameter", cs336.name = "q"},
                          %t: tensor<4xf32> {cs336.kind = "input", cs336.name = "t"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  // CHECK: cs336.attention_backward %{{.*}} score(%arg1 : tensor<4xf32>) {
  // CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>, %{{.*}}: tensor<i32>, %[[H:.*]]: tensor<i32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>, %[[T:.*]]: tensor<4xf32>):
  // CHECK: %[[LIMIT:.*]] = cs336.element %[[T]][%[[H]]]
  // CHECK: %[[TANH:.*]] = cs336.tanh %[[S]]
  // CHECK: %[[R:.*]] = cs336.mul %[[TANH]], %[[LIMIT]]
  // CHECK: cs336.mul %[[TANH]], %[[TANH]]
  // CHECK: cs336.sub
  // CHECK: %[[D:.*]] = cs336.mul
  // CHECK-NEXT: cs336.yield %[[R]], %[[D]]
  // CHECK-NOT: 5x5x
  // CHECK: return
  %o, %lse = cs336.attention %q, %q, %q {scale = 2.5e-01 : f64, causal}
      : tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32> -> tensor<2x4x5xf32> score(%t : tensor<4xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<4xf32>):
    %limit = cs336.element %table[%h] : tensor<4xf32>
    %tanh = cs336.tanh %s : tensor<f32>
    %r = cs336.mul %tanh, %limit : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  %loss = cs336.reduce sum %o axes = [0, 1, 2, 3] : tensor<2x5x4x16xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// The gradient of a table is a sum over batches, queries and keys.
// CHECK-LABEL: @table_gradient
// CHECK: cs336.reduce sum %{{.*}} axes = [0, 2, 3] : tensor<2x4x5x5xf32> -> tensor<4xf32>
func.func @table_gradient(%q: tensor<2x5x4x16xf32> {cs336.kind = "input", cs336.name = "q"},
                          %t: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "t"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %o, %lse = cs336.attention %q, %q, %q {scale = 2.5e-01 : f64}
      : tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32> -> tensor<2x4x5xf32> score(%t : tensor<4xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<4xf32>):
    %bias = cs336.element %table[%h] : tensor<4xf32>
    %r = cs336.mul %s, %bias : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  %loss = cs336.reduce sum %o axes = [0, 1, 2, 3] : tensor<2x5x4x16xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
