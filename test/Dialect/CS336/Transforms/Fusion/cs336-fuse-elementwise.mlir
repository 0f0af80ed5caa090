// RUN: cs336-opt %s --split-input-file --cs336-move-layouts --cs336-fuse-elementwise --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --cs336-move-layouts --cs336-fuse-elementwise -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --split-input-file --cs336-move-layouts --cs336-fuse-elementwise -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: cs336-opt %s --split-input-file --cs336-move-layouts --cs336-fuse-elementwise --remarks-filter=cs336-fuse-elementwise --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// Fusing and inlining gives the original program.
// RUN: cs336-opt-test %t.once.mlir --split-input-file --test-inline-groups --mlir-print-debuginfo=false | FileCheck %s --check-prefix=INLINED
// INLINED-NOT: cs336.fused

// A chain that reads each tensor once. 3 operations of 2 + 3 + 3 tensors of 128 bytes.
// REMARK: {{.*}}3 operations in one kernel: 384 bytes instead of 1024
// CHECK-LABEL: func.func @swiglu(
// CHECK-SAME: %[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4x8xf32>)
func.func @swiglu(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[Y:.*]] = cs336.fused(%[[A]], %[[B]]) {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4x8xf32>, %[[Z:.*]]: tensor<4x8xf32>):
  // CHECK-NEXT: %[[S:.*]] = cs336.sigmoid %[[X]]
  // CHECK-NEXT: %[[M:.*]] = cs336.mul %[[X]], %[[S]]
  // CHECK-NEXT: %[[G:.*]] = cs336.mul %[[M]], %[[Z]]
  // CHECK-NEXT: cs336.yield %[[G]]
  // CHECK-NEXT: } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: return %[[Y]]
  %s = cs336.sigmoid %a : tensor<4x8xf32>
  %m = cs336.mul %a, %s : tensor<4x8xf32>
  %y = cs336.mul %m, %b : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A softmax is of its rows, with the mask that they share; what converts them on the way is part of its kernel.
// CHECK-LABEL: func.func @masked_softmax(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x8xbf16>, %[[M:.*]]: tensor<4x8xi1>)
func.func @masked_softmax(%x: tensor<2x4x8xbf16>, %m: tensor<4x8xi1>) -> tensor<2x4x8xbf16> {
  // CHECK-NEXT: %[[Y:.*]] = cs336.fused(%[[X]], %[[M]]) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<2x4x8xbf16>, %[[V:.*]]: tensor<4x8xi1>):
  // CHECK-NEXT: %[[WIDE:.*]] = cs336.cast %[[A]]
  // CHECK-NEXT: %[[P:.*]] = cs336.softmax %[[WIDE]] mask %[[V]]
  // CHECK-NEXT: %[[LOW:.*]] = cs336.cast %[[P]]
  // CHECK-NEXT: cs336.yield %[[LOW]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[Y]]
  %wide = cs336.cast %x : tensor<2x4x8xbf16> -> tensor<2x4x8xf32>
  %p = cs336.softmax %wide mask %m {scale = 0.5 : f64} : tensor<2x4x8xf32>, tensor<4x8xi1>
  %low = cs336.cast %p : tensor<2x4x8xf32> -> tensor<2x4x8xbf16>
  return %low : tensor<2x4x8xbf16>
}

// -----

// A residual and the norm that reads it: one kernel, whose results are the sum, its norm, and what the gradient needs of
// a row.
// CHECK-LABEL: func.func @residual_norm(
// CHECK: %[[R:.*]]:3 = cs336.fused(%{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: cs336.add {{.*}} : tensor<2x3x8xf32>
// CHECK: cs336.reduce sum
// CHECK: cs336.rsqrt
// CHECK: cs336.cast {{.*}} -> tensor<2x3x8xbf16>
// CHECK: cs336.yield {{.*}} : tensor<2x3x8xf32>, tensor<2x3xf32>, tensor<2x3x8xbf16>
// CHECK-NOT: cs336.
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @residual_norm(%h: tensor<2x3x8xf32>, %o: tensor<2x3x8xbf16>, %w: tensor<8xf32>)
    -> (tensor<2x3x8xf32>, tensor<2x3xf32>, tensor<2x3x8xbf16>) {
  %wide = cs336.cast %o : tensor<2x3x8xbf16> -> tensor<2x3x8xf32>
  %x = cs336.add %h, %wide : tensor<2x3x8xf32>
  %square = cs336.mul %x, %x : tensor<2x3x8xf32>
  %sum = cs336.reduce sum %square axes = [2] : tensor<2x3x8xf32> -> tensor<2x3xf32>
  %eps = cs336.constant dense<1.0e-05> : tensor<2x3xf32>
  %shifted = cs336.add %sum, %eps : tensor<2x3xf32>
  %r = cs336.rsqrt %shifted : tensor<2x3xf32>
  %rows = cs336.broadcast %r dims = [0, 1] : tensor<2x3xf32> -> tensor<2x3x8xf32>
  %weights = cs336.broadcast %w dims = [2] : tensor<8xf32> -> tensor<2x3x8xf32>
  %n = cs336.mul %x, %rows : tensor<2x3x8xf32>
  %scaled = cs336.mul %weights, %n : tensor<2x3x8xf32>
  %y = cs336.cast %scaled : tensor<2x3x8xf32> -> tensor<2x3x8xbf16>
  return %x, %r, %y : tensor<2x3x8xf32>, tensor<2x3xf32>, tensor<2x3x8xbf16>
}

// -----

// A norm's gradient. The weight's sums columns in a kernel of its own, which converts and multiplies what it reads; the
// input's reads a row once. Neither stores the conversion, nor x·r.
// CHECK-LABEL: func.func @norm_gradient(
// CHECK-SAME: %[[DY:.*]]: tensor<6x8xbf16>, %[[X:.*]]: tensor<6x8xf32>, %[[R:.*]]: tensor<6xf32>, %[[W:.*]]: tensor<8xf32>)
func.func @norm_gradient(%dy: tensor<6x8xbf16>, %x: tensor<6x8xf32>, %r: tensor<6xf32>, %w: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<6x8xf32>) {
  // CHECK-DAG: %[[DW:.*]] = cs336.fused(%[[X]], %[[R]], %[[DY]]) {
  // CHECK-DAG: } : (tensor<6x8xf32>, tensor<6xf32>, tensor<6x8xbf16>) -> tensor<8xf32>
  // CHECK-DAG: %[[DX:.*]] = cs336.fused(%[[DY]], %[[W]], %[[R]], %[[X]]) {
  // CHECK-DAG: } : (tensor<6x8xbf16>, tensor<8xf32>, tensor<6xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: return %[[DW]], %[[DX]]
  %wide = cs336.cast %dy : tensor<6x8xbf16> -> tensor<6x8xf32>
  %rows = cs336.broadcast %r dims = [0] : tensor<6xf32> -> tensor<6x8xf32>
  %n = cs336.mul %x, %rows : tensor<6x8xf32>
  %product = cs336.mul %wide, %n : tensor<6x8xf32>
  %dw = cs336.reduce sum %product axes = [0] : tensor<6x8xf32> -> tensor<8xf32>
  %weights = cs336.broadcast %w dims = [1] : tensor<8xf32> -> tensor<6x8xf32>
  %dn = cs336.mul %wide, %weights : tensor<6x8xf32>
  %direct = cs336.mul %dn, %rows : tensor<6x8xf32>
  %along = cs336.mul %dn, %x : tensor<6x8xf32>
  %dr = cs336.reduce sum %along axes = [1] : tensor<6x8xf32> -> tensor<6xf32>
  %spread = cs336.broadcast %dr dims = [0] : tensor<6xf32> -> tensor<6x8xf32>
  %back = cs336.mul %spread, %x : tensor<6x8xf32>
  %dx = cs336.add %direct, %back : tensor<6x8xf32>
  return %dw, %dx : tensor<8xf32>, tensor<6x8xf32>
}

// -----

// Rotary embedding of q and k out of a packed projection: one kernel, which reads the tables once. Conversions move past
// the layout operations that split heads and pairs, and into the concatenation; what is left of those stands at the
// kernel's border. The slices of the pairs go into the kernel, which then reads whole pairs.
// CHECK-LABEL: func.func @rope(
func.func @rope(%qkv: tensor<2x6x24xbf16>, %cos: tensor<6x2xf32>, %sin: tensor<6x2xf32>)
    -> (tensor<2x2x6x4xbf16>, tensor<2x2x6x4xbf16>) {
  // CHECK-NOT: cs336.cast
  // CHECK: %[[QK:.*]]:2 = cs336.fused(
  // CHECK: ^bb0({{.*}}, %[[PAIRS_OF_Q:.*]]: tensor<2x2x6x2x2xbf16>, %[[PAIRS_OF_K:.*]]: tensor<2x2x6x2x2xbf16>):
  // CHECK-DAG: cs336.slice %[[PAIRS_OF_Q]] offsets = [0, 0, 0, 0, 0]
  // CHECK-DAG: cs336.slice %[[PAIRS_OF_Q]] offsets = [0, 0, 0, 0, 1]
  // CHECK-DAG: cs336.slice %[[PAIRS_OF_K]] offsets = [0, 0, 0, 0, 0]
  // CHECK-DAG: cs336.slice %[[PAIRS_OF_K]] offsets = [0, 0, 0, 0, 1]
  // CHECK: cs336.concat {{.*}} -> tensor<2x2x6x2x2xbf16>
  // CHECK: } : (tensor<6x2xf32>, tensor<6x2xf32>, tensor<2x2x6x2x2xbf16>, tensor<2x2x6x2x2xbf16>) -> (tensor<2x2x6x2x2xbf16>, tensor<2x2x6x2x2xbf16>)
  // CHECK-NEXT: %[[Q:.*]] = cs336.reshape %[[QK]]#0
  // CHECK-NEXT: %[[K:.*]] = cs336.reshape %[[QK]]#1
  // CHECK-NEXT: return %[[Q]], %[[K]]
  %c = cs336.broadcast %cos dims = [2, 3] : tensor<6x2xf32> -> tensor<2x2x6x2x1xf32>
  %s = cs336.broadcast %sin dims = [2, 3] : tensor<6x2xf32> -> tensor<2x2x6x2x1xf32>
  %q_part = cs336.slice %qkv offsets = [0, 0, 0] : tensor<2x6x24xbf16> -> tensor<2x6x8xbf16>
  %q_split = cs336.reshape %q_part : tensor<2x6x8xbf16> -> tensor<2x6x2x4xbf16>
  %q = cs336.transpose %q_split perm = [0, 2, 1, 3] : tensor<2x6x2x4xbf16> -> tensor<2x2x6x4xbf16>
  %q_wide = cs336.cast %q : tensor<2x2x6x4xbf16> -> tensor<2x2x6x4xf32>
  %q_pairs = cs336.reshape %q_wide : tensor<2x2x6x4xf32> -> tensor<2x2x6x2x2xf32>
  %q_even = cs336.slice %q_pairs offsets = [0, 0, 0, 0, 0] : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x2x1xf32>
  %q_odd = cs336.slice %q_pairs offsets = [0, 0, 0, 0, 1] : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x2x1xf32>
  %q_ec = cs336.mul %q_even, %c : tensor<2x2x6x2x1xf32>
  %q_os = cs336.mul %q_odd, %s : tensor<2x2x6x2x1xf32>
  %q_es = cs336.mul %q_even, %s : tensor<2x2x6x2x1xf32>
  %q_oc = cs336.mul %q_odd, %c : tensor<2x2x6x2x1xf32>
  %q_first = cs336.sub %q_ec, %q_os : tensor<2x2x6x2x1xf32>
  %q_second = cs336.add %q_es, %q_oc : tensor<2x2x6x2x1xf32>
  %q_rotated = cs336.concat axis = 4 %q_first, %q_second : tensor<2x2x6x2x1xf32>, tensor<2x2x6x2x1xf32> -> tensor<2x2x6x2x2xf32>
  %q_row = cs336.reshape %q_rotated : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x4xf32>
  %q_y = cs336.cast %q_row : tensor<2x2x6x4xf32> -> tensor<2x2x6x4xbf16>
  %k_part = cs336.slice %qkv offsets = [0, 0, 8] : tensor<2x6x24xbf16> -> tensor<2x6x8xbf16>
  %k_split = cs336.reshape %k_part : tensor<2x6x8xbf16> -> tensor<2x6x2x4xbf16>
  %k = cs336.transpose %k_split perm = [0, 2, 1, 3] : tensor<2x6x2x4xbf16> -> tensor<2x2x6x4xbf16>
  %k_wide = cs336.cast %k : tensor<2x2x6x4xbf16> -> tensor<2x2x6x4xf32>
  %k_pairs = cs336.reshape %k_wide : tensor<2x2x6x4xf32> -> tensor<2x2x6x2x2xf32>
  %k_even = cs336.slice %k_pairs offsets = [0, 0, 0, 0, 0] : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x2x1xf32>
  %k_odd = cs336.slice %k_pairs offsets = [0, 0, 0, 0, 1] : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x2x1xf32>
  %k_ec = cs336.mul %k_even, %c : tensor<2x2x6x2x1xf32>
  %k_os = cs336.mul %k_odd, %s : tensor<2x2x6x2x1xf32>
  %k_es = cs336.mul %k_even, %s : tensor<2x2x6x2x1xf32>
  %k_oc = cs336.mul %k_odd, %c : tensor<2x2x6x2x1xf32>
  %k_first = cs336.sub %k_ec, %k_os : tensor<2x2x6x2x1xf32>
  %k_second = cs336.add %k_es, %k_oc : tensor<2x2x6x2x1xf32>
  %k_rotated = cs336.concat axis = 4 %k_first, %k_second : tensor<2x2x6x2x1xf32>, tensor<2x2x6x2x1xf32> -> tensor<2x2x6x2x2xf32>
  %k_row = cs336.reshape %k_rotated : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x4xf32>
  %k_y = cs336.cast %k_row : tensor<2x2x6x4xf32> -> tensor<2x2x6x4xbf16>
  return %q_y, %k_y : tensor<2x2x6x4xbf16>, tensor<2x2x6x4xbf16>
}

// -----

// The gradients of q and k, turned back, and of v become that of the packed projection in one kernel: the inner
// concatenations make pairs, the outer one stacks heads, and heads are transposed where the kernel loads.
// CHECK-LABEL: func.func @packed_gradient(
func.func @packed_gradient(%dq: tensor<2x2x6x4xbf16>, %dk: tensor<2x2x6x4xbf16>, %dv: tensor<2x6x8xbf16>,
                           %cos: tensor<6x2xf32>, %sin: tensor<6x2xf32>) -> tensor<2x6x24xbf16> {
  // CHECK-NOT: cs336.cast
  // CHECK: %[[D:.*]] = cs336.fused(
  // CHECK: cs336.broadcast %{{.*}} dims = [1, 3] : tensor<6x2xf32> -> tensor<2x6x2x2x1xf32>
  // CHECK: cs336.concat axis = 4
  // CHECK: cs336.concat axis = 4
  // CHECK: %[[ALL:.*]] = cs336.concat axis = 2 %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x6x2x2x2xbf16>, tensor<2x6x2x2x2xbf16>, tensor<2x6x2x2x2xbf16> -> tensor<2x6x6x2x2xbf16>
  // CHECK-NEXT: cs336.yield %[[ALL]]
  // CHECK: %[[Y:.*]] = cs336.reshape %[[D]] : tensor<2x6x6x2x2xbf16> -> tensor<2x6x24xbf16>
  // CHECK-NEXT: return %[[Y]]
  %c = cs336.broadcast %cos dims = [2, 3] : tensor<6x2xf32> -> tensor<2x2x6x2x1xf32>
  %s = cs336.broadcast %sin dims = [2, 3] : tensor<6x2xf32> -> tensor<2x2x6x2x1xf32>
  %q_wide = cs336.cast %dq : tensor<2x2x6x4xbf16> -> tensor<2x2x6x4xf32>
  %q_pairs = cs336.reshape %q_wide : tensor<2x2x6x4xf32> -> tensor<2x2x6x2x2xf32>
  %q_even = cs336.slice %q_pairs offsets = [0, 0, 0, 0, 0] : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x2x1xf32>
  %q_odd = cs336.slice %q_pairs offsets = [0, 0, 0, 0, 1] : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x2x1xf32>
  %q_ec = cs336.mul %q_even, %c : tensor<2x2x6x2x1xf32>
  %q_os = cs336.mul %q_odd, %s : tensor<2x2x6x2x1xf32>
  %q_es = cs336.mul %q_even, %s : tensor<2x2x6x2x1xf32>
  %q_oc = cs336.mul %q_odd, %c : tensor<2x2x6x2x1xf32>
  %q_first = cs336.sub %q_ec, %q_os : tensor<2x2x6x2x1xf32>
  %q_second = cs336.add %q_es, %q_oc : tensor<2x2x6x2x1xf32>
  %q_rotated = cs336.concat axis = 4 %q_first, %q_second : tensor<2x2x6x2x1xf32>, tensor<2x2x6x2x1xf32> -> tensor<2x2x6x2x2xf32>
  %q_row = cs336.reshape %q_rotated : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x4xf32>
  %q_y = cs336.cast %q_row : tensor<2x2x6x4xf32> -> tensor<2x2x6x4xbf16>
  %k_wide = cs336.cast %dk : tensor<2x2x6x4xbf16> -> tensor<2x2x6x4xf32>
  %k_pairs = cs336.reshape %k_wide : tensor<2x2x6x4xf32> -> tensor<2x2x6x2x2xf32>
  %k_even = cs336.slice %k_pairs offsets = [0, 0, 0, 0, 0] : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x2x1xf32>
  %k_odd = cs336.slice %k_pairs offsets = [0, 0, 0, 0, 1] : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x2x1xf32>
  %k_ec = cs336.mul %k_even, %c : tensor<2x2x6x2x1xf32>
  %k_os = cs336.mul %k_odd, %s : tensor<2x2x6x2x1xf32>
  %k_es = cs336.mul %k_even, %s : tensor<2x2x6x2x1xf32>
  %k_oc = cs336.mul %k_odd, %c : tensor<2x2x6x2x1xf32>
  %k_first = cs336.sub %k_ec, %k_os : tensor<2x2x6x2x1xf32>
  %k_second = cs336.add %k_es, %k_oc : tensor<2x2x6x2x1xf32>
  %k_rotated = cs336.concat axis = 4 %k_first, %k_second : tensor<2x2x6x2x1xf32>, tensor<2x2x6x2x1xf32> -> tensor<2x2x6x2x2xf32>
  %k_row = cs336.reshape %k_rotated : tensor<2x2x6x2x2xf32> -> tensor<2x2x6x4xf32>
  %k_y = cs336.cast %k_row : tensor<2x2x6x4xf32> -> tensor<2x2x6x4xbf16>
  %q_rows = cs336.transpose %q_y perm = [0, 2, 1, 3] : tensor<2x2x6x4xbf16> -> tensor<2x6x2x4xbf16>
  %k_rows = cs336.transpose %k_y perm = [0, 2, 1, 3] : tensor<2x2x6x4xbf16> -> tensor<2x6x2x4xbf16>
  %q = cs336.reshape %q_rows : tensor<2x6x2x4xbf16> -> tensor<2x6x8xbf16>
  %k = cs336.reshape %k_rows : tensor<2x6x2x4xbf16> -> tensor<2x6x8xbf16>
  %y = cs336.concat axis = 2 %q, %k, %dv : tensor<2x6x8xbf16>, tensor<2x6x8xbf16>, tensor<2x6x8xbf16> -> tensor<2x6x24xbf16>
  return %y : tensor<2x6x24xbf16>
}

// -----

// A loss with its gradient: one kernel of rows, then the sum over rows.
// CHECK-LABEL: func.func @loss(
func.func @loss(%logits: tensor<6x10xbf16>, %targets: tensor<6xi64>) -> (tensor<f32>, tensor<6x10xbf16>) {
  // CHECK: %[[ROWS:.*]]:2 = cs336.fused(%{{.*}}, %{{.*}}) {
  // CHECK-COUNT-3: cs336.reduce
  // CHECK: } : (tensor<6x10xbf16>, tensor<6xi64>) -> (tensor<6xf32>, tensor<6x10xbf16>)
  // CHECK-NEXT: %[[LOSS:.*]] = cs336.reduce sum %[[ROWS]]#0
  // CHECK-NEXT: return %[[LOSS]], %[[ROWS]]#1
  %x = cs336.cast %logits : tensor<6x10xbf16> -> tensor<6x10xf32>
  %max = cs336.reduce max %x axes = [1] : tensor<6x10xf32> -> tensor<6xf32>
  %maxima = cs336.broadcast %max dims = [0] : tensor<6xf32> -> tensor<6x10xf32>
  %shifted = cs336.sub %x, %maxima : tensor<6x10xf32>
  %e = cs336.exp %shifted : tensor<6x10xf32>
  %sum = cs336.reduce sum %e axes = [1] : tensor<6x10xf32> -> tensor<6xf32>
  %log = cs336.log %sum : tensor<6xf32>
  %classes = cs336.iota axis = 1 : tensor<6x10xi64>
  %wanted = cs336.broadcast %targets dims = [0] : tensor<6xi64> -> tensor<6x10xi64>
  %is = cs336.compare eq %classes, %wanted : tensor<6x10xi64>
  %zero = cs336.constant dense<0.0> : tensor<6x10xf32>
  %one = cs336.constant dense<1.0> : tensor<6x10xf32>
  %picked = cs336.select %is, %shifted, %zero : tensor<6x10xf32>
  %of_target = cs336.reduce sum %picked axes = [1] : tensor<6x10xf32> -> tensor<6xf32>
  %losses = cs336.sub %log, %of_target : tensor<6xf32>
  %loss = cs336.reduce sum %losses axes = [0] : tensor<6xf32> -> tensor<f32>
  %sums = cs336.broadcast %sum dims = [0] : tensor<6xf32> -> tensor<6x10xf32>
  %p = cs336.div %e, %sums : tensor<6x10xf32>
  %onehot = cs336.select %is, %one, %zero : tensor<6x10xf32>
  %d = cs336.sub %p, %onehot : tensor<6x10xf32>
  %dlogits = cs336.cast %d : tensor<6x10xf32> -> tensor<6x10xbf16>
  return %loss, %dlogits : tensor<f32>, tensor<6x10xbf16>
}

// -----

// A mask is index arithmetic: each kernel computes it again, also a kernel of one operation.
// CHECK-LABEL: func.func @mask(
func.func @mask(%x: tensor<3x4x4xf32>, %y: tensor<3x4x4xf32>) -> (tensor<3x4x4xf32>, tensor<3x4x4xf32>) {
  // CHECK-NOT: cs336.compare
  // CHECK: cs336.fused
  // CHECK: cs336.compare
  // CHECK: cs336.fused
  // CHECK: cs336.compare
  %i = cs336.iota axis = 0 : tensor<4x4xi32>
  %j = cs336.iota axis = 1 : tensor<4x4xi32>
  %below = cs336.compare ge %i, %j : tensor<4x4xi32>
  %visible = cs336.broadcast %below dims = [1, 2] : tensor<4x4xi1> -> tensor<3x4x4xi1>
  %hidden = cs336.constant dense<0xFF800000> : tensor<3x4x4xf32>
  %a = cs336.select %visible, %x, %hidden : tensor<3x4x4xf32>
  %b = cs336.select %visible, %y, %hidden : tensor<3x4x4xf32>
  return %a, %b : tensor<3x4x4xf32>, tensor<3x4x4xf32>
}

// -----

// Values that the backward pass reads too: sigmoid(x) is computed from x, which is read anyhow; the sum of a row is stored.
// CHECK-LABEL: func.func @across_product(
// CHECK: %[[FORWARD:.*]]:2 = cs336.fused(%[[X:.*]]) {
// CHECK: } : (tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
// CHECK: %[[P:.*]] = cs336.matmul %[[FORWARD]]#1, %{{.*}}
// CHECK: cs336.fused(
// CHECK-NOT: cs336.reduce
// CHECK: cs336.sigmoid
// CHECK-NOT: cs336.reduce
// CHECK: return
func.func @across_product(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %sum = cs336.reduce sum %x axes = [1] : tensor<8x8xf32> -> tensor<8xf32>
  %sums = cs336.broadcast %sum dims = [0] : tensor<8xf32> -> tensor<8x8xf32>
  %s = cs336.sigmoid %x : tensor<8x8xf32>
  %y = cs336.mul %s, %sums : tensor<8x8xf32>
  %p = cs336.matmul %y, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %again = cs336.mul %p, %s : tensor<8x8xf32>
  %more = cs336.mul %again, %x : tensor<8x8xf32>
  %z = cs336.add %more, %sums : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

// Updates of two parameters share nothing but scalars, which is no reason; a conversion of what is new is done where it
// is new.
// CHECK-LABEL: func.func @updates(
func.func @updates(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>,
    %q: tensor<8xf32>, %h: tensor<8xf32>, %n: tensor<8xf32>, %u: tensor<8xf32>, %lr: tensor<f32>, %apply: tensor<i1>)
    -> (tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>) {
  // CHECK: %[[A:.*]]:2 = cs336.fused(
  // CHECK: cs336.adamw
  // CHECK: cs336.cast {{.*}} -> tensor<8xbf16>
  // CHECK: %[[B:[^,]*]], {{.*}} = cs336.adamw
  // CHECK-NEXT: return %[[A]]#0, %[[A]]#1, %[[B]]
  %p1, %m1, %v1 = cs336.adamw %p, %g, %m, %v lr = %lr, correction1 = %lr, correction2 = %lr, scale = %lr, apply = %apply
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
      : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>
  %low = cs336.cast %p1 : tensor<8xf32> -> tensor<8xbf16>
  %q1, %n1, %u1 = cs336.adamw %q, %h, %n, %u lr = %lr, correction1 = %lr, correction2 = %lr, scale = %lr, apply = %apply
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
      : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>
  return %p1, %low, %q1 : tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>
}

// -----

// An existing group converts its operand, which is narrower than the result.
// CHECK-LABEL: func.func @grow(
// CHECK-SAME: %[[G:.*]]: tensor<4x8xbf16>)
// CHECK-NEXT: cs336.fused(%[[G]]) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x8xbf16>):
// CHECK-NEXT: %[[W:.*]] = cs336.cast %[[A]]
// CHECK-NEXT: cs336.mul %[[W]], %[[W]]
func.func @grow(%g: tensor<4x8xbf16>) -> tensor<f32> {
  %wide = cs336.cast %g : tensor<4x8xbf16> -> tensor<4x8xf32>
  %sum = cs336.fused(%wide) {
  ^bb0(%x: tensor<4x8xf32>):
    %square = cs336.mul %x, %x : tensor<4x8xf32>
    %all = cs336.reduce sum %square axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
    cs336.yield %all : tensor<f32>
  } : (tensor<4x8xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// -----

// Nothing follows a sum over columns in the same kernel.
// REMARK: closed{{.*}}the result is stored for another kernel
// CHECK-LABEL: func.func @columns(
// CHECK: %[[SUM:.*]] = cs336.fused
// CHECK: cs336.reduce
// CHECK: cs336.fused(%{{.*}}, %[[SUM]])
func.func @columns(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = cs336.mul %x, %x : tensor<4x8xf32>
  %sum = cs336.reduce sum %y axes = [0] : tensor<4x8xf32> -> tensor<8xf32> loc("closed")
  %sums = cs336.broadcast %sum dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %z = cs336.div %y, %sums : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

// Rows of one axis, then of two: a kernel has one kind of row.
// REMARK: rows{{.*}}not fused with exp: no iteration space covers the shapes of both
// CHECK-LABEL: func.func @two_kinds_of_rows(
// CHECK-COUNT-2: cs336.fused
func.func @two_kinds_of_rows(%x: tensor<4x3x8xf32>) -> (tensor<4xf32>) {
  %sum = cs336.reduce sum %x axes = [2] : tensor<4x3x8xf32> -> tensor<4x3xf32>
  %sums = cs336.broadcast %sum dims = [0, 1] : tensor<4x3xf32> -> tensor<4x3x8xf32>
  %y = cs336.div %x, %sums : tensor<4x3x8xf32>
  %e = cs336.exp %y : tensor<4x3x8xf32>
  %all = cs336.reduce sum %e axes = [1, 2] : tensor<4x3x8xf32> -> tensor<4xf32> loc("rows")
  %log = cs336.log %all : tensor<4xf32>
  return %log : tensor<4xf32>
}

// -----

// The whole transposed exponential is needed before the first element of the sum.
// REMARK: cycle{{.*}}not fused with exp: an operation outside the kernel depends on one of them and is needed by the other
// CHECK-LABEL: func.func @cycle(
// CHECK-NOT: cs336.fused
func.func @cycle(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = cs336.exp %x : tensor<4x4xf32>
  %t = cs336.transpose %e perm = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = cs336.add %e, %t : tensor<4x4xf32> loc("cycle")
  return %y : tensor<4x4xf32>
}

// -----

// A kernel reads and writes 24 tensors at most.
// REMARK: sum23{{.*}}not fused with add: the kernel's values would not fit into registers
// CHECK-LABEL: func.func @registers(
// CHECK: cs336.fused
// CHECK: cs336.yield
// CHECK: cs336.fused
// CHECK: cs336.yield
// CHECK: return
func.func @registers(%x0: tensor<8xf32>, %x1: tensor<8xf32>, %x2: tensor<8xf32>, %x3: tensor<8xf32>, %x4: tensor<8xf32>, %x5: tensor<8xf32>, %x6: tensor<8xf32>, %x7: tensor<8xf32>, %x8: tensor<8xf32>, %x9: tensor<8xf32>, %x10: tensor<8xf32>, %x11: tensor<8xf32>, %x12: tensor<8xf32>, %x13: tensor<8xf32>, %x14: tensor<8xf32>, %x15: tensor<8xf32>, %x16: tensor<8xf32>, %x17: tensor<8xf32>, %x18: tensor<8xf32>, %x19: tensor<8xf32>, %x20: tensor<8xf32>, %x21: tensor<8xf32>, %x22: tensor<8xf32>, %x23: tensor<8xf32>, %x24: tensor<8xf32>, %x25: tensor<8xf32>)
    -> tensor<8xf32> {
  %s1 = cs336.add %x0, %x1 : tensor<8xf32> loc("sum1")
  %s2 = cs336.add %s1, %x2 : tensor<8xf32> loc("sum2")
  %s3 = cs336.add %s2, %x3 : tensor<8xf32> loc("sum3")
  %s4 = cs336.add %s3, %x4 : tensor<8xf32> loc("sum4")
  %s5 = cs336.add %s4, %x5 : tensor<8xf32> loc("sum5")
  %s6 = cs336.add %s5, %x6 : tensor<8xf32> loc("sum6")
  %s7 = cs336.add %s6, %x7 : tensor<8xf32> loc("sum7")
  %s8 = cs336.add %s7, %x8 : tensor<8xf32> loc("sum8")
  %s9 = cs336.add %s8, %x9 : tensor<8xf32> loc("sum9")
  %s10 = cs336.add %s9, %x10 : tensor<8xf32> loc("sum10")
  %s11 = cs336.add %s10, %x11 : tensor<8xf32> loc("sum11")
  %s12 = cs336.add %s11, %x12 : tensor<8xf32> loc("sum12")
  %s13 = cs336.add %s12, %x13 : tensor<8xf32> loc("sum13")
  %s14 = cs336.add %s13, %x14 : tensor<8xf32> loc("sum14")
  %s15 = cs336.add %s14, %x15 : tensor<8xf32> loc("sum15")
  %s16 = cs336.add %s15, %x16 : tensor<8xf32> loc("sum16")
  %s17 = cs336.add %s16, %x17 : tensor<8xf32> loc("sum17")
  %s18 = cs336.add %s17, %x18 : tensor<8xf32> loc("sum18")
  %s19 = cs336.add %s18, %x19 : tensor<8xf32> loc("sum19")
  %s20 = cs336.add %s19, %x20 : tensor<8xf32> loc("sum20")
  %s21 = cs336.add %s20, %x21 : tensor<8xf32> loc("sum21")
  %s22 = cs336.add %s21, %x22 : tensor<8xf32> loc("sum22")
  %s23 = cs336.add %s22, %x23 : tensor<8xf32> loc("sum23")
  %s24 = cs336.add %s23, %x24 : tensor<8xf32> loc("sum24")
  %s25 = cs336.add %s24, %x25 : tensor<8xf32> loc("sum25")
  return %s25 : tensor<8xf32>
}
