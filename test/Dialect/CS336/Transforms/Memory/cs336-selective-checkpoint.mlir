// Blocks compute activations again, the cheapest per byte first: element-wise operations, then one GEMM at a time, row
// reductions, and attention.

// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-selective-checkpoint{share=0.333},canonicalize,cse))' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=CHEAP
// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-selective-checkpoint{share=0.17},canonicalize,cse))' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=FIRST
// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-selective-checkpoint{share=0.5},canonicalize,cse))' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=GEMM
// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-selective-checkpoint{share=1},canonicalize,cse))' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=ALL
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-selective-checkpoint=share=0 | FileCheck %s --check-prefix=NONE
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-selective-checkpoint=share=1 --mlir-print-debuginfo=false > %t.selective
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-checkpoint --mlir-print-debuginfo=false | diff %t.selective -
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-selective-checkpoint > %t.once
// RUN: cs336-opt %t.once --split-input-file --cs336-selective-checkpoint | diff %t.once -
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-selective-checkpoint=share=0.5 -o /dev/null --remarks-filter=cs336-selective-checkpoint --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not cs336-opt %s --split-input-file --cs336-selective-checkpoint=share=1.5 2>&1 | FileCheck %s --check-prefix=RANGE -DSHARE=1.5
// RUN: not cs336-opt %s --split-input-file --cs336-selective-checkpoint=share=-2.5 2>&1 | FileCheck %s --check-prefix=RANGE -DSHARE=-2.5
// RUN: not cs336-opt %s --split-input-file --cs336-selective-checkpoint=share=nan 2>&1 | FileCheck %s --check-prefix=RANGE -DSHARE=nan

// RANGE: error: share is [[SHARE]]{{.*}}, must be from 0 to 1
// NONE-NOT: cs336.barrier

// Two blocks v + sigmoid(tanh(v·w)·u) with 3 rungs: element-wise operations, the first GEMM, the second one, whose
// FLOPs per byte are the same. The last addition of a block is its output, which is kept.

// REMARK: [Passed] Recomputed {{.*}}"block 1 of 2, rung 2 of 3: 256 bytes of activations are dropped, 640 FLOPs are computed again"
// REMARK: [Passed] Recomputed {{.*}}"block 2 of 2, rung 1 of 3: 256 bytes of activations are dropped, 128 FLOPs are computed again"

// Results of GEMMs are kept. The second block comes first in the backward pass.
// CHEAP-LABEL: func @blocks(
// CHEAP:         %[[V0:.*]] = cs336.matmul
// CHEAP:         %[[H1:.*]] = cs336.matmul %[[V0]],
// CHEAP:         %[[G1:.*]] = cs336.matmul
// CHEAP:         %[[V1:.*]] = cs336.add %[[V0]],
// CHEAP:         %[[H2:.*]] = cs336.matmul %[[V1]],
// CHEAP:         %[[G2:.*]] = cs336.matmul
// CHEAP:         cs336.reduce sum
// CHEAP:         %[[BG2:.*]] = cs336.barrier %[[G2]]
// CHEAP-NEXT:    %[[BH2:.*]] = cs336.barrier %[[H2]]
// CHEAP-NEXT:    cs336.tanh %[[BH2]]
// CHEAP-NEXT:    cs336.sigmoid %[[BG2]]
// CHEAP:         %[[BG1:.*]] = cs336.barrier %[[G1]]
// CHEAP-NEXT:    %[[BH1:.*]] = cs336.barrier %[[H1]]
// CHEAP-NEXT:    cs336.tanh %[[BH1]]
// CHEAP-NEXT:    cs336.sigmoid %[[BG1]]
// CHEAP-NOT:     cs336.barrier
// CHEAP:         return

// A sixth of the steps, rounded up: the first block alone takes the first rung, and the second one is kept.
// FIRST-LABEL: func @blocks(
// FIRST:         %[[H1:.*]] = cs336.matmul %{{.*}}, %arg2
// FIRST:         %[[G1:.*]] = cs336.matmul %{{.*}}, %arg3
// FIRST:         cs336.reduce sum
// FIRST:         cs336.barrier %[[G1]]
// FIRST-NEXT:    cs336.barrier %[[H1]]
// FIRST-NOT:     cs336.barrier
// FIRST:         return

// Half of the steps: the first block also computes its first GEMM again, from its input.
// GEMM-LABEL: func @blocks(
// GEMM:         %[[V0:.*]] = cs336.matmul
// GEMM:         %[[G1:.*]] = cs336.matmul %{{.*}}, %arg3
// GEMM:         %[[H2:.*]] = cs336.matmul %{{.*}}, %arg4
// GEMM:         %[[G2:.*]] = cs336.matmul %{{.*}}, %arg5
// GEMM:         cs336.barrier %[[G2]]
// GEMM-NEXT:    cs336.barrier %[[H2]]
// GEMM:         %[[BG1:.*]] = cs336.barrier %[[G1]]
// GEMM-NEXT:    %[[B0:.*]] = cs336.barrier %[[V0]]
// GEMM-NEXT:    %[[H1:.*]] = cs336.matmul %[[B0]], %arg2
// GEMM-NEXT:    cs336.tanh %[[H1]]
// GEMM-NEXT:    cs336.sigmoid %[[BG1]]
// GEMM-NOT:     cs336.barrier
// GEMM:         return

// All steps: each block keeps its input, as with cs336-checkpoint.
// ALL-LABEL: func @blocks(
// ALL:         %[[V0:.*]] = cs336.matmul
// ALL:         %[[V1:.*]] = cs336.add %[[V0]],
// ALL:         cs336.reduce sum
// ALL:         cs336.barrier %[[V1]]
// ALL:         cs336.barrier %[[V0]]
// ALL-NOT:     cs336.barrier
// ALL:         return
func.func @blocks(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w0: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w0"},
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %u1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "u1"},
    %w2: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w2"},
    %u2: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "u2"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %h1 = cs336.matmul %v0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t1 = cs336.tanh %h1 : tensor<4x8xf32>
  %g1 = cs336.matmul %t1, %u1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %s1 = cs336.sigmoid %g1 : tensor<4x8xf32>
  %v1 = cs336.add %v0, %s1 : tensor<4x8xf32>
  %h2 = cs336.matmul %v1, %w2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t2 = cs336.tanh %h2 : tensor<4x8xf32>
  %g2 = cs336.matmul %t2, %u2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %s2 = cs336.sigmoid %g2 : tensor<4x8xf32>
  %v2 = cs336.add %v1, %s2 : tensor<4x8xf32>
  %loss = cs336.reduce sum %v2 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A smaller sum per element comes first: 4 FLOPs per byte for w, 8 for u, whatever the order of the program.
// REMARK: "block 1 of 2, rung 2 of 3: 384 bytes of activations are dropped,
// GEMM-LABEL: func @order(
// GEMM:         %[[H1:.*]] = cs336.matmul %{{.*}}, %arg2
// GEMM:         cs336.reduce sum
// GEMM:         cs336.barrier %[[H1]]
// GEMM:         cs336.matmul %{{.*}}, %arg3
func.func @order(%x: tensor<4x16xf32> {cs336.kind = "input", cs336.name = "x"},
    %w0: tensor<16x16xf32> {cs336.kind = "parameter", cs336.name = "w0"},
    %w1: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %u1: tensor<8x16xf32> {cs336.kind = "parameter", cs336.name = "u1"},
    %w2: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "w2"},
    %u2: tensor<8x16xf32> {cs336.kind = "parameter", cs336.name = "u2"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.matmul %x, %w0 : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  %h1 = cs336.matmul %v0, %w1 : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %t1 = cs336.tanh %h1 : tensor<4x8xf32>
  %g1 = cs336.matmul %t1, %u1 : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s1 = cs336.sigmoid %g1 : tensor<4x16xf32>
  %v1 = cs336.add %v0, %s1 : tensor<4x16xf32>
  %h2 = cs336.matmul %v1, %w2 : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %t2 = cs336.tanh %h2 : tensor<4x8xf32>
  %g2 = cs336.matmul %t2, %u2 : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s2 = cs336.sigmoid %g2 : tensor<4x16xf32>
  %v2 = cs336.add %v1, %s2 : tensor<4x16xf32>
  %loss = cs336.reduce sum %v2 axes = [0, 1] : tensor<4x16xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Row reductions come last: with half of two rungs, their results are kept, and norms are computed from them.
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-selective-checkpoint=share=0.5 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=LAST
// LAST-LABEL: func @reductions(
// LAST:         %[[M1:.*]] = cs336.reduce sum %{{.*}} axes = [1]
// LAST:         %[[M2:.*]] = cs336.reduce sum %{{.*}} axes = [1]
// LAST:         cs336.reduce sum %{{.*}} axes = [0, 1]
// LAST:         %[[B2:.*]] = cs336.barrier %[[M2]]
// LAST:         cs336.rsqrt %[[B2]]
// LAST:         %[[B1:.*]] = cs336.barrier %[[M1]]
// LAST:         cs336.rsqrt %[[B1]]
// LAST:         return
func.func @reductions(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.mul %x, %w : tensor<4x8xf32>
  %q1 = cs336.mul %v0, %v0 : tensor<4x8xf32>
  %m1 = cs336.reduce sum %q1 axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %r1 = cs336.rsqrt %m1 : tensor<4xf32>
  %b1 = cs336.broadcast %r1 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %v1 = cs336.mul %v0, %b1 : tensor<4x8xf32>
  %q2 = cs336.mul %v1, %v1 : tensor<4x8xf32>
  %m2 = cs336.reduce sum %q2 axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %r2 = cs336.rsqrt %m2 : tensor<4xf32>
  %b2 = cs336.broadcast %r2 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %v2 = cs336.mul %v1, %b2 : tensor<4x8xf32>
  %t = cs336.tanh %v2 : tensor<4x8xf32>
  %loss = cs336.reduce sum %t axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Attention comes after row reductions, on a rung of its own. With 4 of 6 steps, both blocks compute the reductions
// again, and attention is kept. The next step is attention in the first block.
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-selective-checkpoint=share=0.6666 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=KEPT
// A share that is rounded up by less than a thousandth of a step takes no further step.
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-selective-checkpoint=share=0.666667 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=KEPT
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-selective-checkpoint=share=0.67 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=AGAIN
// REMARK: [Passed] Recomputed {{.*}}"block 1 of 2, rung 2 of 3:
// REMARK: [Passed] Recomputed {{.*}}"block 2 of 2, rung 1 of 3:
// KEPT-LABEL: func @attention(
// KEPT:         %[[O1:.*]], %{{.*}} = cs336.attention %
// KEPT:         %[[O2:.*]], %{{.*}} = cs336.attention %
// KEPT-NOT:     cs336.attention %
// KEPT:         %[[B2:.*]] = cs336.barrier %[[O2]]
// KEPT-NOT:     cs336.attention %
// KEPT:         cs336.mul %[[B2]], %[[B2]]
// KEPT-NEXT:    cs336.reduce sum %{{.*}} axes = [3]
// KEPT-NOT:     cs336.attention %
// KEPT:         %[[B1:.*]] = cs336.barrier %[[O1]]
// KEPT-NOT:     cs336.attention %
// KEPT:         cs336.mul %[[B1]], %[[B1]]
// KEPT-NEXT:    cs336.reduce sum %{{.*}} axes = [3]
// KEPT-NOT:     cs336.attention %
// KEPT:         return
// AGAIN-LABEL: func @attention(
// AGAIN-COUNT-2: = cs336.attention %
// AGAIN:         cs336.attention_backward
// AGAIN:         = cs336.attention %
// AGAIN-NOT:     = cs336.attention %
// AGAIN:         cs336.attention_backward
// AGAIN-NOT:     = cs336.attention %
// AGAIN:         return
func.func @attention(%x: tensor<1x4x1x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w: tensor<1x4x1x8xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.mul %x, %w : tensor<1x4x1x8xf32>
  %t1 = cs336.tanh %v0 : tensor<1x4x1x8xf32>
  %o1, %lse1 = cs336.attention %t1, %t1, %t1 {scale = 1.0 : f64} : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x1x4xf32>
  %q1 = cs336.mul %o1, %o1 : tensor<1x4x1x8xf32>
  %m1 = cs336.reduce sum %q1 axes = [3] : tensor<1x4x1x8xf32> -> tensor<1x4x1xf32>
  %r1 = cs336.rsqrt %m1 : tensor<1x4x1xf32>
  %b1 = cs336.broadcast %r1 dims = [0, 1, 2] : tensor<1x4x1xf32> -> tensor<1x4x1x8xf32>
  %v1 = cs336.mul %o1, %b1 : tensor<1x4x1x8xf32>
  %t2 = cs336.tanh %v1 : tensor<1x4x1x8xf32>
  %o2, %lse2 = cs336.attention %t2, %t2, %t2 {scale = 1.0 : f64} : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x1x4xf32>
  %q2 = cs336.mul %o2, %o2 : tensor<1x4x1x8xf32>
  %m2 = cs336.reduce sum %q2 axes = [3] : tensor<1x4x1x8xf32> -> tensor<1x4x1xf32>
  %r2 = cs336.rsqrt %m2 : tensor<1x4x1xf32>
  %b2 = cs336.broadcast %r2 dims = [0, 1, 2] : tensor<1x4x1xf32> -> tensor<1x4x1x8xf32>
  %v2 = cs336.mul %o2, %b2 : tensor<1x4x1x8xf32>
  %h = cs336.tanh %v2 : tensor<1x4x1x8xf32>
  %loss = cs336.reduce sum %h axes = [0, 1, 2, 3] : tensor<1x4x1x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Nothing to choose from: one block, or no gradients.
// REMARK: [Missed] NoBlocks
// REMARK: [Missed] NoGradients
func.func @one(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %h = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t = cs336.tanh %h : tensor<4x8xf32>
  %loss = cs336.reduce sum %t axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @forward(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x8xf32> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %y = cs336.tanh %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
