// Ranks with replicated gradients add squares as if the gradients were sharded: those of each rank's rows, the sums of
// each rank, and then these in the order of ranks. So the norm has the bits of sharded gradients.

// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=flat' --cs336-optimizer | FileCheck %s
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=fsdp' --cs336-optimizer | FileCheck %s --check-prefix=SHARDED
// RUN: cs336-opt %s --cs336-distribute='world-size=8 mode=flat' --cs336-optimizer | grep -c 'cs336.slice' | FileCheck %s --check-prefix=EIGHT
// RUN: cs336-opt %s --cs336-distribute='world-size=16 mode=flat' --cs336-optimizer | FileCheck %s --check-prefix=WHOLE
// RUN: cs336-opt %s --cs336-optimizer | FileCheck %s --check-prefix=WHOLE

// CHECK: %[[MEANS:.*]]:3 = cs336.collective all_reduce mean
// CHECK: %[[FIRST:.*]] = cs336.slice %[[MEANS]]#0 offsets = [0, 0] : tensor<32x4xf32> -> tensor<16x4xf32>
// CHECK: %[[SECOND:.*]] = cs336.slice %[[MEANS]]#0 offsets = [16, 0] : tensor<32x4xf32> -> tensor<16x4xf32>
// CHECK: %[[W0:.*]] = cs336.fused(%[[FIRST]])
// CHECK: %[[W1:.*]] = cs336.fused(%[[SECOND]])
// CHECK: %[[FEW:.*]] = cs336.slice %[[MEANS]]#1 offsets = [0, 0] : tensor<8x4xf32> -> tensor<4x4xf32>
// CHECK: %[[REST:.*]] = cs336.slice %[[MEANS]]#1 offsets = [4, 0] : tensor<8x4xf32> -> tensor<4x4xf32>
// CHECK: %[[V0:.*]] = cs336.fused(%[[FEW]])
// CHECK: %[[V1:.*]] = cs336.fused(%[[REST]])
// CHECK: %[[GAIN:.*]] = cs336.fused(%[[MEANS]]#2)
// CHECK: %[[RANK0:.*]] = cs336.fused(%[[W0]], %[[V0]])
// CHECK: %[[RANK1:.*]] = cs336.fused(%[[W1]], %[[V1]])
// CHECK: %[[PARTS:.*]] = cs336.add %[[RANK0]], %[[RANK1]]
// CHECK: %[[SUM:.*]] = cs336.fused(%[[GAIN]], %[[PARTS]])
// CHECK: cs336.sqrt %[[SUM]]

// SHARDED-NOT: cs336.slice
// SHARDED: cs336.collective all_reduce sum

// EIGHT: 16

// WHOLE-NOT: cs336.slice
// WHOLE: cs336.sqrt

func.func @train(%x: tensor<2x32xf32> {cs336.kind = "input", cs336.name = "x"},
                 %w: tensor<32x4xf32> {cs336.kind = "parameter", cs336.name = "w"},
                 %v: tensor<8x4xf32> {cs336.kind = "parameter", cs336.name = "v"},
                 %gain: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "gain"})
    -> (tensor<32x4xf32> {cs336.kind = "gradient", cs336.name = "w"}, tensor<8x4xf32> {cs336.kind = "gradient", cs336.name = "v"},
        tensor<4xf32> {cs336.kind = "gradient", cs336.name = "gain"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<max_norm = 1.0>} {
  %y = cs336.matmul %x, %w : tensor<2x32xf32>, tensor<32x4xf32> -> tensor<2x4xf32>
  %dw = cs336.matmul %x, %y {transpose_a} : tensor<2x32xf32>, tensor<2x4xf32> -> tensor<32x4xf32>
  %dv = cs336.exp %v : tensor<8x4xf32>
  %dgain = cs336.exp %gain : tensor<4xf32>
  return %dw, %dv, %dgain : tensor<32x4xf32>, tensor<8x4xf32>, tensor<4xf32>
}
