// Gradients of sharded parameters are computed from the factors of all ranks where ranks then send few enough bytes.
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=zero1 factors=1.5' --mlir-print-local-scope | FileCheck %s
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=fsdp factors=1.5' --mlir-print-local-scope | FileCheck %s
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=zero1 factors=1.5' --remarks-filter=cs336-distribute --remark-format=emitRemark -o /dev/null 2>&1 | grep -o 'Remark=.*' | FileCheck %s --check-prefix=REMARKS
// REMARKS: Remark="@train: 2 gradients are computed from the factors of all ranks: each rank sends 0.003 MiB, and 0.018 MiB of gradients otherwise"
// REMARKS: Remark="@train: 2 collectives scatter 0.047 MiB of gradients"
// REMARKS: Remark="@train: 5 values become means over 2 ranks, in 5 collectives"

// Each bucket has one gradient here. The second one does not gather x again.
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=zero1 factors=1.5 bucket-mib=0.001' --mlir-print-local-scope | FileCheck %s --check-prefix=BUCKETS

// No gradient has so few bytes of factors, other modes keep their reductions, and clipped updates wait for the norm.
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=zero1 factors=0.01' | FileCheck %s --check-prefix=GRADIENTS
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=zero1' | FileCheck %s --check-prefix=GRADIENTS
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=flat factors=9' | FileCheck %s --check-prefix=REPLICATED
// RUN: sed 's/max_norm = 0.0/max_norm = 1.0/' %s | cs336-opt --cs336-distribute='world-size=2 mode=zero1 factors=9' | FileCheck %s --check-prefix=GRADIENTS
// GRADIENTS-LABEL: func.func @train
// GRADIENTS-NOT: all_to_all
// GRADIENTS: return
// REPLICATED-NOT: all_to_all
// REPLICATED-NOT: all_gather

// Ranks exchange columns of dy and dz, and gather x, which both gradients read, once. Each computes its 64 rows of a and
// 32 rows of b from the 16 tokens of both ranks. The mean of two ranks is half of the sum.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x96xbf16> {{{.*}} %[[DY:[a-z0-9]+]]: tensor<8x128xbf16> {{{.*}} %[[DZ:[a-z0-9]+]]: tensor<8x64xbf16> {
// CHECK: %[[SPLIT:.*]] = cs336.reshape %[[DY]] : tensor<8x128xbf16> -> tensor<8x2x64xbf16> loc("communication"("factors0"))
// CHECK-NEXT: %[[DY_PARTS:.*]] = cs336.transpose %[[SPLIT]] perm = [1, 0, 2] : tensor<8x2x64xbf16> -> tensor<2x8x64xbf16>
// CHECK-NEXT: %[[SPLIT:.*]] = cs336.reshape %[[DZ]] : tensor<8x64xbf16> -> tensor<8x2x32xbf16>
// CHECK-NEXT: %[[DZ_PARTS:.*]] = cs336.transpose %[[SPLIT]] perm = [1, 0, 2] : tensor<8x2x32xbf16> -> tensor<2x8x32xbf16>
// CHECK-NEXT: %[[OWN:.*]]:2 = cs336.collective all_to_all(%[[DY_PARTS]], %[[DZ_PARTS]]) group = 2 : (tensor<2x8x64xbf16>, tensor<2x8x32xbf16>) -> (tensor<2x8x64xbf16>, tensor<2x8x32xbf16>) loc("communication"("factors0"))
// CHECK-NEXT: %[[DY_OWN:.*]] = cs336.reshape %[[OWN]]#0 : tensor<2x8x64xbf16> -> tensor<16x64xbf16>
// CHECK-NEXT: %[[DZ_OWN:.*]] = cs336.reshape %[[OWN]]#1 : tensor<2x8x32xbf16> -> tensor<16x32xbf16>
// CHECK-NEXT: %[[ALL:.*]] = cs336.collective all_gather(%[[X]]) group = 2 : (tensor<8x96xbf16>) -> tensor<16x96xbf16> loc("communication"("factors0"))
// The third gradient has more readers, and the fourth is in f32. Each rank gets the parts of its rows from all ranks, and
// the update adds them. The mean of the loss is a reduction and follows.
// CHECK: %[[D:.*]] = cs336.matmul %{{.*}} : tensor<8x128xf32>, tensor<8x96xf32> -> tensor<128x96xf32>
// CHECK-NEXT: %[[SPLIT:.*]] = cs336.reshape %[[D]] : tensor<128x96xf32> -> tensor<2x64x96xf32> loc("communication"("d"))
// CHECK-NEXT: %[[D_PARTS:.*]] = cs336.collective all_to_all(%[[SPLIT]]) group = 2 : (tensor<2x64x96xf32>) -> tensor<2x64x96xf32> loc("communication"("d"))
// CHECK-NEXT: %[[D_ALL:.*]] = cs336.reshape %[[D_PARTS]] : tensor<2x64x96xf32> -> tensor<128x96xf32> loc("optimizer"(
// CHECK-NEXT: %[[D0:.*]] = cs336.slice %[[D_ALL]] offsets = [0, 0] : tensor<128x96xf32> -> tensor<64x96xf32>
// CHECK-NEXT: %[[D1:.*]] = cs336.slice %[[D_ALL]] offsets = [64, 0] : tensor<128x96xf32> -> tensor<64x96xf32>
// CHECK-NEXT: %[[D_SUM:.*]] = cs336.add %[[D0]], %[[D1]] : tensor<64x96xf32> loc("optimizer"(
// CHECK: %[[D_MEAN:.*]] = cs336.mul %[[D_SUM]], %{{.*}}
// CHECK: %[[C_PARTS:.*]] = cs336.collective all_to_all(%{{.*}}) group = 2 : (tensor<2x64x2xbf16>) -> tensor<2x64x2xbf16>
// CHECK-NEXT: cs336.collective all_reduce mean(%{{.*}}) group = 2 : (tensor<f32>) -> tensor<f32>
// CHECK: %[[C0:.*]] = cs336.cast %{{.*}} : tensor<64x2xbf16> -> tensor<64x2xf32>
// CHECK: %[[C1:.*]] = cs336.cast %{{.*}} : tensor<64x2xbf16> -> tensor<64x2xf32>
// CHECK-NEXT: %[[C_SUM:.*]] = cs336.add %[[C0]], %[[C1]] : tensor<64x2xf32>
// CHECK: %[[C_MEAN:.*]] = cs336.mul %[[C_SUM]], %{{.*}}
// CHECK: %[[A:.*]] = cs336.matmul %[[DY_OWN]], %[[ALL]] {transpose_a} : tensor<16x64xbf16>, tensor<16x96xbf16> -> tensor<64x96xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = cs336.cast %[[A]] : tensor<64x96xbf16> -> tensor<64x96xf32>
// CHECK-NEXT: %[[HALF:.*]] = cs336.constant dense<5.000000e-01> : tensor<64x96xf32>
// CHECK-NEXT: %[[A_MEAN:.*]] = cs336.mul %[[WIDE]], %[[HALF]]
// CHECK: %[[B:.*]] = cs336.matmul %[[DZ_OWN]], %[[ALL]] {transpose_a} : tensor<16x32xbf16>, tensor<16x96xbf16> -> tensor<32x96xbf16>
// CHECK: %[[B_MEAN:.*]] = cs336.mul
// CHECK: return %{{.*}}, %[[A_MEAN]], %[[B_MEAN]], %[[C_MEAN]], %[[D_MEAN]] : tensor<f32>, tensor<64x96xf32>, tensor<32x96xf32>, tensor<64x2xf32>, tensor<64x96xf32>

// BUCKETS: cs336.collective all_to_all({{.*}}) group = 2 : (tensor<2x8x64xbf16>) -> tensor<2x8x64xbf16> loc("communication"("factors0"))
// BUCKETS: cs336.collective all_gather({{.*}}) group = 2 : (tensor<8x96xbf16>) -> tensor<16x96xbf16> loc("communication"("factors0"))
// BUCKETS-NOT: all_gather
// BUCKETS: cs336.collective all_to_all({{.*}}) group = 2 : (tensor<2x8x32xbf16>) -> tensor<2x8x32xbf16> loc("communication"("factors1"))
// BUCKETS-NOT: all_gather
// BUCKETS-COUNT-2: tensor<16x96xbf16> ->

func.func @train(%x: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x"}, %dy: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "dy"},
                 %dz: tensor<8x64xbf16> {cs336.kind = "input", cs336.name = "dz"}, %u: tensor<8x2xbf16> {cs336.kind = "input", cs336.name = "u"},
                 %x32: tensor<8x96xf32> {cs336.kind = "input", cs336.name = "x32"}, %dy32: tensor<8x128xf32> {cs336.kind = "input", cs336.name = "dy32"},
                 %a: tensor<128x96xf32> {cs336.kind = "parameter", cs336.name = "a"}, %b: tensor<64x96xf32> {cs336.kind = "parameter", cs336.name = "b"},
                 %c: tensor<128x2xf32> {cs336.kind = "parameter", cs336.name = "c"}, %d: tensor<128x96xf32> {cs336.kind = "parameter", cs336.name = "d"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<128x96xf32> {cs336.kind = "gradient", cs336.name = "a"},
        tensor<64x96xf32> {cs336.kind = "gradient", cs336.name = "b"}, tensor<128x2xf32> {cs336.kind = "gradient", cs336.name = "c"},
        tensor<128x96xf32> {cs336.kind = "gradient", cs336.name = "d"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<max_norm = 0.0>} {
  %loss = cs336.reduce sum %x32 axes = [0, 1] : tensor<8x96xf32> -> tensor<f32>
  %da = cs336.matmul %dy, %x {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %db = cs336.matmul %dz, %x {transpose_a} : tensor<8x64xbf16>, tensor<8x96xbf16> -> tensor<64x96xbf16>
  %dc = cs336.matmul %dy, %u {transpose_a} : tensor<8x128xbf16>, tensor<8x2xbf16> -> tensor<128x2xbf16>
  %dd = cs336.matmul %dy32, %x32 {transpose_a} : tensor<8x128xf32>, tensor<8x96xf32> -> tensor<128x96xf32>
  %twice = cs336.add %dc, %dc : tensor<128x2xbf16>
  %a32 = cs336.cast %da : tensor<128x96xbf16> -> tensor<128x96xf32>
  %b32 = cs336.cast %db : tensor<64x96xbf16> -> tensor<64x96xf32>
  %c32 = cs336.cast %twice : tensor<128x2xbf16> -> tensor<128x2xf32>
  return %loss, %a32, %b32, %c32, %dd : tensor<f32>, tensor<128x96xf32>, tensor<64x96xf32>, tensor<128x2xf32>, tensor<128x96xf32>
}

// The gradient of the own tokens stays if something else reads it.
// CHECK-LABEL: func.func @returned
// CHECK: %[[OWN:.*]] = cs336.matmul %{{.*}} {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
// CHECK: %[[WIDE:.*]] = cs336.cast %[[OWN]]
// CHECK: %[[MEAN:.*]] = cs336.mul
// CHECK: return %[[MEAN]], %[[WIDE]] : tensor<64x96xf32>, tensor<128x96xf32>
func.func @returned(%x: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x"}, %dy: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "dy"},
                    %a: tensor<128x96xf32> {cs336.kind = "parameter", cs336.name = "a"})
    -> (tensor<128x96xf32> {cs336.kind = "gradient", cs336.name = "a"}, tensor<128x96xf32> {cs336.kind = "output", cs336.name = "own"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %da = cs336.matmul %dy, %x {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %a32 = cs336.cast %da : tensor<128x96xbf16> -> tensor<128x96xf32>
  return %a32, %a32 : tensor<128x96xf32>, tensor<128x96xf32>
}
