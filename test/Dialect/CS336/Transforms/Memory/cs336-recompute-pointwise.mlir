// Pointwise results whose operands are kept anyway are computed again, behind barriers, right before they are read.

// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-recompute-pointwise{min-bytes=0},canonicalize,cse))' --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-recompute-pointwise=min-bytes=0 > %t.once
// RUN: cs336-opt %t.once --split-input-file --cs336-recompute-pointwise=min-bytes=0 | diff %t.once -
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-recompute-pointwise | FileCheck %s --check-prefix=SMALL
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-recompute-pointwise=min-bytes=0 -o /dev/null --remarks-filter=cs336-recompute-pointwise --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-recompute-pointwise=min-bytes=0 | FileCheck %s --check-prefix=LOC
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-recompute-pointwise='min-bytes=0 min-saving=0.01' --remarks-filter=cs336-recompute-pointwise --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=SAVING
// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-recompute-pointwise{min-bytes=0}))' --pass-statistics --mlir-pass-statistics-display=list -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNT

// RUN: not cs336-opt %s --split-input-file --cs336-recompute-pointwise=min-saving=1.5 2>&1 | FileCheck %s --check-prefix=SHARE
// SHARE: error: min-saving is 1.5{{.*}}, must be a share from 0 to 1

// No value is worth a launch of its own.
// SMALL-NOT: cs336.barrier

// COUNT: cs336-recompute-pointwise num-dropped 3
// REMARK: [Passed] Recomputed {{.*}}3 pointwise results of 384 bytes are dropped after the forward pass and computed again
// REMARK: [Passed] Recomputed {{.*}}2 pointwise results of 192 bytes are
// REMARK-NOT: Recomputed

// The most is held when these gradients are computed: eight tensors of 128 bytes and the loss, without what can be dropped.
// SAVING: [Missed] TooLittle {{.*}}nothing is computed again: of the 1028 bytes that the function holds at most, 0 would be saved
// SAVING: [Missed] TooLittle {{.*}}of the 580 bytes
// SAVING-NOT: cs336.barrier

// LOC: cs336.barrier %{{.*}} loc(#[[BARRIER:.*]])
// LOC: #[[BARRIER]] = loc("backward"(

// The values σ(p), silu(p) and silu(p)·q of a gate are dropped: the GEMMs' results p and q are kept.

// CHECK-LABEL: func @gate(
// CHECK:         %[[P:.*]] = cs336.matmul
// CHECK:         %[[Q:.*]] = cs336.matmul
// CHECK:         %[[S:.*]] = cs336.sigmoid %[[P]]
// CHECK:         %[[H:.*]] = cs336.mul %[[P]], %[[S]]
// CHECK:         %[[G:.*]] = cs336.mul %[[H]], %[[Q]]
// CHECK:         cs336.matmul %[[G]],
// CHECK:         cs336.reduce sum
// CHECK-NOT:     %[[S]]
// CHECK-NOT:     %[[H]]
// CHECK-NOT:     %[[G]]
// CHECK-DAG:     %[[P2:.*]] = cs336.barrier %[[P]]
// CHECK-DAG:     %[[Q2:.*]] = cs336.barrier %[[Q]]
// CHECK-DAG:     %[[S2:.*]] = cs336.sigmoid %[[P2]]
// CHECK-DAG:     %[[H2:.*]] = cs336.mul %[[P2]], %[[S2]]
// CHECK-DAG:     %[[G2:.*]] = cs336.mul %[[H2]], %[[Q2]]
// CHECK-DAG:     cs336.matmul %[[G2]], %{{.*}} {transpose_a}
// CHECK:         return
func.func @gate(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
                %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
                %w2: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w2"},
                %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %p = cs336.matmul %x, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %q = cs336.matmul %x, %w3 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %s = cs336.sigmoid %p : tensor<4x8xf32>
  %h = cs336.mul %p, %s : tensor<4x8xf32>
  %g = cs336.mul %h, %q : tensor<4x8xf32>
  %y = cs336.matmul %g, %w2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %loss = cs336.reduce sum %y axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// An exponential whose argument is not kept is kept itself, and so is what the function returns.

// CHECK-LABEL: func @kept(
// CHECK-NOT:     cs336.barrier
// CHECK:         return
func.func @kept(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
                %w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"},
        tensor<4x8xf32> {cs336.kind = "output", cs336.name = "squares"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e = cs336.exp %v : tensor<4x8xf32>
  %squares = cs336.mul %e, %e : tensor<4x8xf32>
  %loss = cs336.reduce sum %squares axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss, %squares : tensor<f32>, tensor<4x8xf32>
}

// -----

// Through what the backward pass does not read itself, too: casts, here, of a sigmoid in another type.

// CHECK-LABEL: func @through(
// CHECK:         %[[P:.*]] = cs336.matmul
// CHECK:         %[[WIDE:.*]] = cs336.cast %[[P]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK:         %[[S:.*]] = cs336.sigmoid %[[WIDE]]
// CHECK:         %[[NARROW:.*]] = cs336.cast %[[S]] : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK:         cs336.mul %[[P]], %[[NARROW]]
// CHECK:         %[[P2:.*]] = cs336.barrier %[[P]]
// CHECK:         %[[WIDE2:.*]] = cs336.cast %[[P2]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK:         %[[S2:.*]] = cs336.sigmoid %[[WIDE2]]
// CHECK:         cs336.cast %[[S2]] : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK:         return
func.func @through(%x: tensor<4x8xbf16> {cs336.kind = "input", cs336.name = "x"},
                   %w: tensor<8x8xbf16> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %p = cs336.matmul %x, %w : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  %wide = cs336.cast %p : tensor<4x8xbf16> -> tensor<4x8xf32>
  %s = cs336.sigmoid %wide : tensor<4x8xf32>
  %narrow = cs336.cast %s : tensor<4x8xf32> -> tensor<4x8xbf16>
  %h = cs336.mul %p, %narrow : tensor<4x8xbf16>
  %y = cs336.cast %h : tensor<4x8xbf16> -> tensor<4x8xf32>
  %loss = cs336.reduce sum %y axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
