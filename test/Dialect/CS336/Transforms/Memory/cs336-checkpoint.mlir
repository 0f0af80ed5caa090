// Activations of blocks are computed again from the blocks' inputs, behind barriers, right before they are read.

// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-checkpoint{every=1},canonicalize,cse))' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=CHECK
// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-checkpoint{every=2},canonicalize,cse))' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=TWO
// RUN: cs336-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(cs336-differentiate,cs336-checkpoint{every=0},canonicalize,cse))' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=NONE
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-checkpoint > %t.once
// RUN: cs336-opt %t.once --split-input-file --cs336-checkpoint | diff %t.once -
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-checkpoint -o /dev/null --remarks-filter=cs336-checkpoint --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt %s --split-input-file --cs336-differentiate --cs336-checkpoint | FileCheck %s --check-prefix=LOC
// RUN: not cs336-opt %s --split-input-file --cs336-checkpoint=every=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// NEGATIVE: every
// NONE-NOT: cs336.barrier

// Three blocks v + tanh(v·w) after a matmul. The input of each is kept; its last addition need not be repeated.

// CHECK-LABEL: func @blocks(
// CHECK:         %[[V0:.*]] = cs336.matmul
// CHECK:         cs336.tanh
// CHECK:         %[[V1:.*]] = cs336.add %[[V0]],
// CHECK:         cs336.tanh
// CHECK:         %[[V2:.*]] = cs336.add %[[V1]],
// CHECK:         cs336.tanh
// CHECK:         cs336.reduce sum
// CHECK:         %[[B2:.*]] = cs336.barrier %[[V2]]
// CHECK-NEXT:    %[[H3:.*]] = cs336.matmul %[[B2]], %{{.*}} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    %[[T3:.*]] = cs336.tanh %[[H3]]
// CHECK-NEXT:    cs336.mul %[[T3]], %[[T3]]
// CHECK-NOT:     cs336.tanh
// CHECK:         %[[B1:.*]] = cs336.barrier %[[V1]]
// CHECK-NEXT:    %[[H2:.*]] = cs336.matmul %[[B1]],
// CHECK-NEXT:    %[[T2:.*]] = cs336.tanh %[[H2]]
// CHECK-NEXT:    cs336.mul %[[T2]], %[[T2]]
// CHECK-NOT:     cs336.tanh
// CHECK:         %[[B0:.*]] = cs336.barrier %[[V0]]
// CHECK-NEXT:    %[[H1:.*]] = cs336.matmul %[[B0]],
// CHECK-NEXT:    %[[T1:.*]] = cs336.tanh %[[H1]]
// CHECK-NEXT:    cs336.mul %[[T1]], %[[T1]]
// CHECK-NOT:     cs336.tanh
// CHECK:         return

// Two together, and the one that is left: the input of the second is computed again too.
// TWO-LABEL: func @blocks(
// TWO:         %[[V0:.*]] = cs336.matmul
// TWO:         %[[V1:.*]] = cs336.add %[[V0]],
// TWO:         %[[V2:.*]] = cs336.add %[[V1]],
// TWO:         cs336.barrier %[[V2]]
// TWO:         %[[B0:.*]] = cs336.barrier %[[V0]]
// TWO-NEXT:    %[[H1:.*]] = cs336.matmul %[[B0]],
// TWO-NEXT:    %[[T1:.*]] = cs336.tanh %[[H1]]
// TWO-NEXT:    %[[V1B:.*]] = cs336.add %[[B0]], %[[T1]]
// TWO-NEXT:    %[[H2:.*]] = cs336.matmul %[[V1B]],
// TWO-NEXT:    cs336.tanh %[[H2]]
// TWO-NOT:     cs336.barrier
// TWO:         return

// REMARK-COUNT-3: [Passed] Recomputed {{.*}}"1 of 3 blocks together: 128 bytes of activations are dropped, 544 FLOPs are computed again"
// LOC: cs336.barrier %{{.*}} loc(#[[BARRIER:.*]])
// LOC: #[[BARRIER]] = loc("backward"(
func.func @blocks(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w0: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w0"},
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %w2: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w2"},
    %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %h1 = cs336.matmul %v0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t1 = cs336.tanh %h1 : tensor<4x8xf32>
  %v1 = cs336.add %v0, %t1 : tensor<4x8xf32>
  %h2 = cs336.matmul %v1, %w2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t2 = cs336.tanh %h2 : tensor<4x8xf32>
  %v2 = cs336.add %v1, %t2 : tensor<4x8xf32>
  %h3 = cs336.matmul %v2, %w3 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t3 = cs336.tanh %h3 : tensor<4x8xf32>
  %v3 = cs336.add %v2, %t3 : tensor<4x8xf32>
  %loss = cs336.reduce sum %v3 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A collective runs once: its result is kept, and read after a barrier.

// CHECK-LABEL: func @collective(
// CHECK-COUNT-2: cs336.collective all_reduce
// CHECK-NOT:     cs336.collective
// CHECK:         %[[B:.*]] = cs336.barrier
// CHECK-NEXT:    cs336.tanh %[[B]]
// CHECK-NOT:     cs336.collective
// CHECK:         return
// REMARK-COUNT-2: [Passed] Recomputed {{.*}}"1 of 2 blocks together: 128 bytes of activations are dropped, 32 FLOPs are computed again"
func.func @collective(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %p: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "p"},
    %w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<4x8xf32> {cs336.kind = "gradient", cs336.name = "p"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.mul %x, %p : tensor<4x8xf32>
  %h1 = cs336.matmul %v0, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %r1 = cs336.collective all_reduce sum(%h1) group = 4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %t1 = cs336.tanh %r1 : tensor<4x8xf32>
  %v1 = cs336.add %v0, %t1 : tensor<4x8xf32>
  %h2 = cs336.matmul %v1, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %r2 = cs336.collective all_reduce sum(%h2) group = 4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %t2 = cs336.tanh %r2 : tensor<4x8xf32>
  %v2 = cs336.add %v1, %t2 : tensor<4x8xf32>
  %loss = cs336.reduce sum %v2 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %a = cs336.neg %t2 : tensor<4x8xf32>
  %g = cs336.mul %a, %t1 : tensor<4x8xf32>
  return %loss, %g : tensor<f32>, tensor<4x8xf32>
}

// -----

// Values that the function returns are kept.

// CHECK-LABEL: func @returned(
// CHECK:         %[[T1:.*]] = cs336.tanh
// CHECK:         cs336.tanh
// CHECK:         cs336.reduce
// CHECK:         cs336.barrier
// CHECK:         cs336.tanh
// CHECK-NOT:     cs336.barrier
// CHECK:         return %{{.*}}, %[[T1]],
// REMARK:        [Passed] Recomputed {{.*}}"1 of 2 blocks together:
// REMARK-NOT:    Recomputed
func.func @returned(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w0: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w0"},
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %w2: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w2"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"},
        tensor<4x8xf32> {cs336.kind = "output", cs336.name = "t"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %h1 = cs336.matmul %v0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t1 = cs336.tanh %h1 : tensor<4x8xf32>
  %v1 = cs336.add %v0, %t1 : tensor<4x8xf32>
  %h2 = cs336.matmul %v1, %w2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t2 = cs336.tanh %h2 : tensor<4x8xf32>
  %v2 = cs336.add %v1, %t2 : tensor<4x8xf32>
  %loss = cs336.reduce sum %v2 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss, %t1 : tensor<f32>, tensor<4x8xf32>
}

// -----

// Nothing repeats.

// CHECK-LABEL: func @one_block(
// CHECK-NOT:     cs336.barrier
// REMARK: [Missed] NoBlocks {{.*}}nothing is computed again: the forward pass has no consecutive equal blocks
func.func @one_block(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w0: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w0"},
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %h1 = cs336.matmul %v0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t1 = cs336.tanh %h1 : tensor<4x8xf32>
  %v1 = cs336.add %v0, %t1 : tensor<4x8xf32>
  %loss = cs336.reduce sum %v1 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Without gradients, no later operation reads activations.

// CHECK-LABEL: func @forward(
// CHECK-NOT:     cs336.barrier
// REMARK-NOT: NoBlocks
// REMARK: [Missed] NoGradients {{.*}}nothing is computed again: @forward computes no gradients
func.func @forward(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w0: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w0"},
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %w2: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w2"},
    %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<loss>} {
  %v0 = cs336.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %h1 = cs336.matmul %v0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t1 = cs336.tanh %h1 : tensor<4x8xf32>
  %v1 = cs336.add %v0, %t1 : tensor<4x8xf32>
  %h2 = cs336.matmul %v1, %w2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t2 = cs336.tanh %h2 : tensor<4x8xf32>
  %v2 = cs336.add %v1, %t2 : tensor<4x8xf32>
  %h3 = cs336.matmul %v2, %w3 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t3 = cs336.tanh %h3 : tensor<4x8xf32>
  %v3 = cs336.add %v2, %t3 : tensor<4x8xf32>
  %loss = cs336.reduce sum %v3 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The gradient of v + v·c does not depend on v.

// CHECK-LABEL: func @linear(
// CHECK-NOT:     cs336.barrier
// REMARK-COUNT-2: [Missed] NothingDropped {{.*}}the backward pass reads no recomputable value of 1 of 2 blocks
func.func @linear(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %c: tensor<8x8xf32> {cs336.kind = "input", cs336.name = "c"},
    %w0: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w0"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %v0 = cs336.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %h1 = cs336.matmul %v0, %c : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %v1 = cs336.add %v0, %h1 : tensor<4x8xf32>
  %h2 = cs336.matmul %v1, %c : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %v2 = cs336.add %v1, %h2 : tensor<4x8xf32>
  %loss = cs336.reduce sum %v2 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
