// In mode bucket, each rank computes its rows of gradients from the factors of all ranks, and gathers the others.
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=bucket factors=1.5' --mlir-print-local-scope | FileCheck %s
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=bucket factors=1.5' --remarks-filter=cs336-distribute --remark-format=emitRemark -o /dev/null 2>&1 | grep -o 'Remark=.*' | FileCheck %s --check-prefix=REMARKS
// REMARKS: Remark="@train: 2 gradients are computed from the factors of all ranks: each rank sends 0.021 MiB, and 0.035 MiB of gradients otherwise"
// REMARKS: Remark="@train: 6 values become means over 2 ranks, in 6 collectives"
// REMARKS-NOT: scatter

// The sums fill buckets of the given size.
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=bucket factors=1.5 bucket-mib=0.001' --mlir-print-local-scope | FileCheck %s --check-prefix=BUCKETS
// BUCKETS: cs336.collective all_gather(%{{[0-9]+}}) group = 2 : (tensor<64x96xbf16>) -> tensor<128x96xbf16> loc("communication"("sums0"))
// BUCKETS: cs336.collective all_gather(%{{[0-9]+}}) group = 2 : (tensor<32x96xbf16>) -> tensor<64x96xbf16> loc("communication"("sums1"))

// Gradients are reduced without factors, with factors for fewer than nine tenths of the gradients (a only), with clipped
// updates, which wait for the norm, and outside of training steps.
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=bucket' | FileCheck %s --check-prefix=REDUCED
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=bucket factors=0.01' | FileCheck %s --check-prefix=REDUCED
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=bucket factors=0.3' | FileCheck %s --check-prefix=REDUCED
// RUN: sed 's/max_norm = 0.0/max_norm = 1.0/' %s | cs336-opt --cs336-distribute='world-size=2 mode=bucket factors=9' | FileCheck %s --check-prefix=REDUCED
// RUN: sed 's/#cs336.mode<train>/#cs336.mode<forward_backward>/' %s | cs336-opt --cs336-distribute='world-size=2 mode=bucket factors=9' | FileCheck %s --check-prefix=REDUCED
// REDUCED-LABEL: func.func @train
// REDUCED-NOT: cs336.collective all_{{gather|to_all}}
// REDUCED: cs336.collective all_reduce mean(
// REDUCED-NOT: cs336.collective all_{{gather|to_all}}
// REDUCED: return

// The gradient of c has no factors in bf16, and 2 ranks do not divide the rows of d. All ranks gather both and add them.
// Only the vector and the loss are reduced, after all gathers.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x96xbf16> {
// CHECK: %[[OWN:.*]]:2 = cs336.collective all_to_all(%{{.*}}, %{{.*}}) group = 2 : (tensor<2x8x64xbf16>, tensor<2x8x32xbf16>) -> (tensor<2x8x64xbf16>, tensor<2x8x32xbf16>) loc("communication"("factors0"))
// CHECK: %[[DY_OWN:.*]] = cs336.reshape %[[OWN]]#0 : tensor<2x8x64xbf16> -> tensor<16x64xbf16>
// CHECK: %[[DZ_OWN:.*]] = cs336.reshape %[[OWN]]#1 : tensor<2x8x32xbf16> -> tensor<16x32xbf16>
// CHECK: %[[ALL:.*]] = cs336.collective all_gather(%[[X]]) group = 2 : (tensor<8x96xbf16>) -> tensor<16x96xbf16> loc("communication"("factors0"))
// CHECK: %[[C:.*]] = cs336.matmul %{{.*}} : tensor<8x128xf32>, tensor<8x2xf32> -> tensor<128x2xf32>
// CHECK-NEXT: %[[C_ALL:.*]] = cs336.collective all_gather(%[[C]]) group = 2 : (tensor<128x2xf32>) -> tensor<256x2xf32> loc("communication"("c"))
// CHECK-NEXT: %[[C0:.*]] = cs336.slice %[[C_ALL]] offsets = [0, 0] : tensor<256x2xf32> -> tensor<128x2xf32>
// CHECK-NEXT: %[[C1:.*]] = cs336.slice %[[C_ALL]] offsets = [128, 0] : tensor<256x2xf32> -> tensor<128x2xf32>
// CHECK-NEXT: %[[C_SUM:.*]] = cs336.add %[[C0]], %[[C1]] : tensor<128x2xf32> loc("optimizer"(
// CHECK: %[[C_MEAN:.*]] = cs336.mul %[[C_SUM]], %{{.*}}
// CHECK: %[[D_ALL:.*]] = cs336.collective all_gather(%{{.*}}) group = 2 : (tensor<13x96xbf16>) -> tensor<26x96xbf16>
// CHECK: %[[D0:.*]] = cs336.cast %{{.*}} : tensor<13x96xbf16> -> tensor<13x96xf32>
// CHECK: %[[D1:.*]] = cs336.cast %{{.*}} : tensor<13x96xbf16> -> tensor<13x96xf32>
// CHECK-NEXT: %[[D_SUM:.*]] = cs336.add %[[D0]], %[[D1]]
// CHECK: %[[D_MEAN:.*]] = cs336.mul %[[D_SUM]], %{{.*}}
// CHECK: %[[A:.*]] = cs336.matmul %[[DY_OWN]], %[[ALL]] {transpose_a} : tensor<16x64xbf16>, tensor<16x96xbf16> -> tensor<64x96xbf16>
// CHECK: %[[B:.*]] = cs336.matmul %[[DZ_OWN]], %[[ALL]] {transpose_a} : tensor<16x32xbf16>, tensor<16x96xbf16> -> tensor<32x96xbf16>
// CHECK-NEXT: %[[SUMS:.*]]:2 = cs336.collective all_gather(%[[A]], %[[B]]) group = 2 : (tensor<64x96xbf16>, tensor<32x96xbf16>) -> (tensor<128x96xbf16>, tensor<64x96xbf16>) loc("communication"("sums0"))
// CHECK-NEXT: %[[MEANS:.*]]:2 = cs336.collective all_reduce mean(%{{.*}}, %{{.*}}) group = 2 : (tensor<f32>, tensor<96xf32>) -> (tensor<f32>, tensor<96xf32>)
// CHECK: %[[B_WIDE:.*]] = cs336.cast %[[SUMS]]#1 : tensor<64x96xbf16> -> tensor<64x96xf32>
// CHECK: %[[B_MEAN:.*]] = cs336.mul %[[B_WIDE]], %{{.*}}
// CHECK: %[[A_WIDE:.*]] = cs336.cast %[[SUMS]]#0 : tensor<128x96xbf16> -> tensor<128x96xf32>
// CHECK: %[[A_MEAN:.*]] = cs336.mul %[[A_WIDE]], %{{.*}}
// CHECK: return %[[MEANS]]#0, %[[A_MEAN]], %[[B_MEAN]], %[[C_MEAN]], %[[D_MEAN]], %[[MEANS]]#1 :
func.func @train(%x: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x"}, %dy: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "dy"},
                 %dz: tensor<8x64xbf16> {cs336.kind = "input", cs336.name = "dz"}, %du: tensor<8x13xbf16> {cs336.kind = "input", cs336.name = "du"},
                 %x32: tensor<8x2xf32> {cs336.kind = "input", cs336.name = "x32"}, %dy32: tensor<8x128xf32> {cs336.kind = "input", cs336.name = "dy32"},
                 %a: tensor<128x96xf32> {cs336.kind = "parameter", cs336.name = "a"}, %b: tensor<64x96xf32> {cs336.kind = "parameter", cs336.name = "b"},
                 %c: tensor<128x2xf32> {cs336.kind = "parameter", cs336.name = "c"}, %d: tensor<13x96xf32> {cs336.kind = "parameter", cs336.name = "d"},
                 %v: tensor<96xf32> {cs336.kind = "parameter", cs336.name = "v"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<128x96xf32> {cs336.kind = "gradient", cs336.name = "a"},
        tensor<64x96xf32> {cs336.kind = "gradient", cs336.name = "b"}, tensor<128x2xf32> {cs336.kind = "gradient", cs336.name = "c"},
        tensor<13x96xf32> {cs336.kind = "gradient", cs336.name = "d"}, tensor<96xf32> {cs336.kind = "gradient", cs336.name = "v"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<max_norm = 0.0>} {
  %loss = cs336.reduce sum %x32 axes = [0, 1] : tensor<8x2xf32> -> tensor<f32>
  %dv = cs336.neg %v : tensor<96xf32>
  %da = cs336.matmul %dy, %x {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %db = cs336.matmul %dz, %x {transpose_a} : tensor<8x64xbf16>, tensor<8x96xbf16> -> tensor<64x96xbf16>
  %dc = cs336.matmul %dy32, %x32 {transpose_a} : tensor<8x128xf32>, tensor<8x2xf32> -> tensor<128x2xf32>
  %dd = cs336.matmul %du, %x {transpose_a} : tensor<8x13xbf16>, tensor<8x96xbf16> -> tensor<13x96xbf16>
  %a32 = cs336.cast %da : tensor<128x96xbf16> -> tensor<128x96xf32>
  %b32 = cs336.cast %db : tensor<64x96xbf16> -> tensor<64x96xf32>
  %d32 = cs336.cast %dd : tensor<13x96xbf16> -> tensor<13x96xf32>
  return %loss, %a32, %b32, %dc, %d32, %dv : tensor<f32>, tensor<128x96xf32>, tensor<64x96xf32>, tensor<128x2xf32>, tensor<13x96xf32>, tensor<96xf32>
}

// The gradients of the table from both ranks exceed 256 MiB.
// CHECK-LABEL: func.func @large
// CHECK: cs336.collective all_to_all(
// CHECK: cs336.collective all_reduce mean(%{{.*}}) group = 2 : (tensor<32769x1024xf32>) -> tensor<32769x1024xf32>
func.func @large(%x: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x"}, %dy: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "dy"},
                 %a: tensor<128x96xf32> {cs336.kind = "parameter", cs336.name = "a"}, %table: tensor<32769x1024xf32> {cs336.kind = "parameter", cs336.name = "table"})
    -> (tensor<128x96xf32> {cs336.kind = "gradient", cs336.name = "a"}, tensor<32769x1024xf32> {cs336.kind = "gradient", cs336.name = "table"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %da = cs336.matmul %dy, %x {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %a32 = cs336.cast %da : tensor<128x96xbf16> -> tensor<128x96xf32>
  %dtable = cs336.neg %table : tensor<32769x1024xf32>
  return %a32, %dtable : tensor<128x96xf32>, tensor<32769x1024xf32>
}
