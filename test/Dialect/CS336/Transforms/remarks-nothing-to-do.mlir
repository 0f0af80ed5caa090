// Passes that find nothing to do report what they look for.

// RUN: cs336-opt %s --cs336-checkpoint -o /dev/null --remarks-filter=cs336-checkpoint 2>&1 | FileCheck %s --check-prefix=CHECKPOINT
// RUN: cs336-opt %s --cs336-hoist-invariants -o /dev/null --remarks-filter=cs336-hoist-invariants 2>&1 | FileCheck %s --check-prefix=HOIST
// RUN: cs336-opt %s --cs336-merge-gemms -o /dev/null --remarks-filter=cs336-merge-gemms 2>&1 | FileCheck %s --check-prefix=MERGE
// RUN: cs336-opt %s --cs336-recompute-pointwise=min-bytes=512 -o /dev/null --remarks-filter=cs336-recompute-pointwise 2>&1 | FileCheck %s --check-prefix=RECOMPUTE
// RUN: cs336-opt %s --cs336-weight-shadows -o /dev/null --remarks-filter=cs336-weight-shadows 2>&1 | FileCheck %s --check-prefix=SHADOWS

// CHECKPOINT: [Missed] NoGradients {{.*}}nothing is computed again: @forward computes no gradients
// CHECKPOINT: [Missed] NoBlocks {{.*}}the forward pass has no consecutive equal blocks
// CHECKPOINT: [Missed] SeveralBlocks {{.*}}nothing is computed again: @branches has several blocks

// HOIST: [Missed] NotHoisted {{.*}}@forward computes it in each call: 128 FLOPs for 64 elements, below min-flops = {{[0-9]+}} per element
// HOIST: [Missed] NotHoisted {{.*}}@branches has several blocks, so each run computes its invariant values

// MERGE: [Missed] NotMerged {{.*}}no two linears of @forward have the same input
// MERGE: [Missed] NotMerged {{.*}}@backward returns gradients or new values of its weights, under names that packing would take away: merge before differentiating
// MERGE: [Missed] NotMerged {{.*}}no two linears of @branches have the same input

// RECOMPUTE: [Missed] NoGradients {{.*}}nothing is computed again: @forward computes no gradients
// RECOMPUTE: [Missed] NothingDropped {{.*}}the backward pass of @backward reads no pointwise result of 512 bytes and more that could be computed again
// RECOMPUTE: [Missed] SeveralBlocks {{.*}}nothing is computed again: @branches has several blocks

// SHADOWS: [Missed] NoShadows {{.*}}@branches has several blocks and goes on rounding its parameters
// SHADOWS: [Missed] NoShadows {{.*}}no entry rounds a parameter to fewer bits, as autocast makes them do

func.func @forward(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "w"}) -> (tensor<4x16xf32> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %rows = cs336.iota axis = 0 : tensor<4x16xf32>
  %columns = cs336.iota axis = 1 : tensor<4x16xf32>
  %sum = cs336.add %rows, %columns : tensor<4x16xf32>
  %table = cs336.mul %sum, %columns : tensor<4x16xf32>
  %h = cs336.linear %x, %w : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %p = cs336.add %h, %table : tensor<4x16xf32>
  return %p : tensor<4x16xf32>
}

func.func @backward(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
    %w: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "w"}) -> (tensor<16x8xf32> {cs336.kind = "gradient", cs336.name = "w"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %g = cs336.neg %w : tensor<16x8xf32>
  return %g : tensor<16x8xf32>
}

func.func @branches(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x8xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  cf.br ^next
^next:
  return %x : tensor<4x8xf32>
}
