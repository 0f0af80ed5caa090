// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=zero1' --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,ZERO1
// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=fsdp' --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,FSDP
// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=fsdp prefetch=0' | FileCheck %s --check-prefix=LATE

// One rank changes nothing, and a second run changes nothing.
// RUN: cs336-opt %s -o %t.mlir
// RUN: cs336-opt %s --cs336-distribute='world-size=1 mode=zero1' | diff - %t.mlir
// RUN: cs336-opt %s --cs336-distribute='world-size=1 mode=fsdp' | diff - %t.mlir
// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=fsdp' -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --cs336-distribute='world-size=4 mode=fsdp' | diff - %t.once.mlir

// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=fsdp' --remarks-filter=cs336-distribute --remark-format=emitRemark -o /dev/null 2>&1 | grep -o 'Remark=.*' | FileCheck %s --check-prefix=REMARKS
// REMARKS: Remark="@train: all ranks keep 'odd' whole: 4 ranks do not divide its 2 rows"
// REMARKS: Remark="@train: 4 parameters are sharded over 4 ranks, 3 replicated (2 vectors, scalars or integers, 1 with rows that 4 does not divide); 3 collectives gather 0.000 MiB"
// REMARKS: Remark="@train: 2 collectives scatter 0.000 MiB of gradients"
// REMARKS: Remark="@train: 5 values become means over 4 ranks, in 4 collectives"
// REMARKS: Remark="@gradients: 1 parameters are sharded over 4 ranks, 0 replicated
// REMARKS-NOT: scatter
// REMARKS: Remark="@loss: 2 parameters are sharded over 4 ranks

// Two layers: y = x·w₀ in bf16, where %w0 is cast, and z = y·w₁ + y·v₁. The backward pass reads all of them.

// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {cs336.kind = "input"
// CHECK-SAME: %[[W0:[a-z0-9]+]]: tensor<2x8xf32> {cs336.init = #cs336.init<ones>, cs336.kind = "parameter", cs336.name = "layers.0.w", cs336.shards = 4 : i64, cs336.views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]}
// CHECK-SAME: %[[W1:[a-z0-9]+]]: tensor<2x2xf32> {cs336.kind = "parameter", cs336.name = "layers.1.w", cs336.shards = 4 : i64}
// CHECK-SAME: %[[V1:[a-z0-9]+]]: tensor<2x2xf32> {cs336.kind = "parameter", cs336.name = "layers.1.v", cs336.shards = 4 : i64}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<1x2xf32> {cs336.kind = "parameter", cs336.name = "unused", cs336.shards = 4 : i64}
// CHECK-SAME: tensor<2x8xf32> {cs336.kind = "parameter", cs336.name = "odd"}
// CHECK-SAME: tensor<8xf32> {cs336.kind = "parameter", cs336.name = "norm"}
// CHECK-SAME: tensor<4x4xi64> {cs336.kind = "parameter", cs336.name = "counts"}
// CHECK-SAME: tensor<2x8xf32> {cs336.kind = "gradient", cs336.name = "layers.0.w", cs336.shards = 4 : i64, cs336.views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]}
// CHECK-SAME: tensor<2x2xf32> {cs336.kind = "gradient", cs336.name = "layers.1.w", cs336.shards = 4 : i64}
// CHECK-SAME: tensor<8xf32> {cs336.kind = "gradient", cs336.name = "norm"}

// LATE-LABEL: func.func @train
// LATE: cs336.collective all_gather
// LATE-NEXT: cs336.matmul
func.func @train(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
                 %w0: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "layers.0.w", cs336.init = #cs336.init<ones>,
                   cs336.views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]},
                 %w1: tensor<8x2xf32> {cs336.kind = "parameter", cs336.name = "layers.1.w"},
                 %v1: tensor<8x2xf32> {cs336.kind = "parameter", cs336.name = "layers.1.v"},
                 %unused: tensor<4x2xf32> {cs336.kind = "parameter", cs336.name = "unused"},
                 %odd: tensor<2x8xf32> {cs336.kind = "parameter", cs336.name = "odd"},
                 %norm: tensor<8xf32> {cs336.kind = "parameter", cs336.name = "norm"},
                 %counts: tensor<4x4xi64> {cs336.kind = "parameter", cs336.name = "counts"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"},
        tensor<8x8xf32> {cs336.kind = "gradient", cs336.name = "layers.0.w", cs336.views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]},
        tensor<8x2xf32> {cs336.kind = "gradient", cs336.name = "layers.1.w"}, tensor<8x2xf32> {cs336.kind = "gradient", cs336.name = "layers.1.v"},
        tensor<4x2xf32> {cs336.kind = "gradient", cs336.name = "unused"}, tensor<8xf32> {cs336.kind = "gradient", cs336.name = "norm"})
    attributes {cs336.mode = #cs336.mode<train>} {
  // The ranks exchange what the GEMM reads: bf16. Layer 1 is gathered one layer ahead, by one collective.
  // CHECK: %[[X16:.*]] = cs336.cast %[[X]] : tensor<4x8xf32> -> tensor<4x8xbf16>
  // CHECK-NEXT: %[[PART:.*]] = cs336.cast %[[W0]] : tensor<2x8xf32> -> tensor<2x8xbf16> loc("communication"("layers.0.w"))
  // CHECK-NEXT: %[[WHOLE:.*]] = cs336.collective all_gather(%[[PART]]) group = 4 : (tensor<2x8xbf16>) -> tensor<8x8xbf16> loc("communication"("layers.0.w"))
  // CHECK-NEXT: %[[LAYER:.*]]:2 = cs336.collective all_gather(%[[W1]], %[[V1]]) group = 4 : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) loc("communication"("layers.1"))
  // CHECK-NEXT: cs336.matmul %[[X16]], %[[WHOLE]]
  %x16 = cs336.cast %x : tensor<4x8xf32> -> tensor<4x8xbf16>
  %w16 = cs336.cast %w0 : tensor<8x8xf32> -> tensor<8x8xbf16>
  %y16 = cs336.matmul %x16, %w16 : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>

  // LATE: %[[LAYER:.*]]:2 = cs336.collective all_gather
  // LATE-NEXT: cs336.matmul %{{.*}}, %[[LAYER]]#0
  // LATE: cs336.matmul {{.*}} {transpose_b}
  // LATE: %[[AGAIN:.*]] = cs336.collective all_gather
  // LATE-NEXT: cs336.matmul %{{.*}}, %[[AGAIN]] {transpose_b}
  // CHECK: %[[Y:.*]] = cs336.cast
  // CHECK-NEXT: cs336.matmul %[[Y]], %[[LAYER]]#0
  // CHECK-NEXT: cs336.matmul %[[Y]], %[[LAYER]]#1
  %y = cs336.cast %y16 : tensor<4x8xbf16> -> tensor<4x8xf32>
  %z0 = cs336.matmul %y, %w1 : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %z1 = cs336.matmul %y, %v1 : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %z = cs336.add %z0, %z1 : tensor<4x2xf32>
  %loss = cs336.reduce sum %z axes = [0, 1] : tensor<4x2xf32> -> tensor<f32>

  // The backward pass begins with the layer that the forward pass gathered last, and keeps it. It gathers layer 0 again,
  // one layer ahead.
  // FSDP: %[[OPAQUE:.*]] = cs336.barrier %[[W0]] : tensor<2x8xf32> loc("communication"("layers.0.w"))
  // FSDP-NEXT: %[[AGAIN_PART:.*]] = cs336.cast %[[OPAQUE]] : tensor<2x8xf32> -> tensor<2x8xbf16>
  // FSDP-NEXT: %[[AGAIN:.*]] = cs336.collective all_gather(%[[AGAIN_PART]]) group = 4 : (tensor<2x8xbf16>) -> tensor<8x8xbf16>
  // ZERO1-NOT: all_gather
  // CHECK: cs336.matmul %{{.*}}, %[[LAYER]]#0 {transpose_b}
  %one = cs336.constant dense<1.0> : tensor<4x2xf32> loc("backward"("loss"))
  %dw1 = cs336.matmul %y, %one {transpose_a} : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<8x2xf32> loc("backward"("w1"))
  %dy0 = cs336.matmul %one, %w1 {transpose_b} : tensor<4x2xf32>, tensor<8x2xf32> -> tensor<4x8xf32> loc("backward"("w1"))
  %dv1 = cs336.matmul %y, %one {transpose_a} : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<8x2xf32> loc("backward"("v1"))

  // Gradients of parts are scattered as soon as the last of a bucket is ready, as the GEMM computed them.
  // CHECK: %[[PARTS:.*]]:2 = cs336.collective reduce_scatter mean(%{{.*}}, %{{.*}}) group = 4 : (tensor<8x2xf32>, tensor<8x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  // ZERO1: cs336.matmul %{{.*}}, %[[WHOLE]] {transpose_b}
  // FSDP: cs336.matmul %{{.*}}, %[[AGAIN]] {transpose_b}
  %dy = cs336.cast %dy0 : tensor<4x8xf32> -> tensor<4x8xbf16> loc("backward"("w0"))
  %dx = cs336.matmul %dy, %w16 {transpose_b} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16> loc("backward"("w0"))
  %dnorm16 = cs336.reduce sum %dx axes = [0] : tensor<4x8xbf16> -> tensor<8xbf16> loc("backward"("norm"))
  %dnorm = cs336.cast %dnorm16 : tensor<8xbf16> -> tensor<8xf32> loc("backward"("norm"))
  %dw16 = cs336.matmul %x16, %dy {transpose_a} : tensor<4x8xbf16>, tensor<4x8xbf16> -> tensor<8x8xbf16> loc("backward"("w0"))
  %dw0 = cs336.cast %dw16 : tensor<8x8xbf16> -> tensor<8x8xf32> loc("backward"("w0"))

  // The gradient of %unused is zero on every rank.
  // CHECK: %[[NARROW:.*]] = cs336.collective reduce_scatter mean(%{{.*}}) group = 4 : (tensor<8x8xbf16>) -> tensor<2x8xbf16>
  // CHECK: %[[DW0:.*]] = cs336.cast %[[NARROW]] : tensor<2x8xbf16> -> tensor<2x8xf32>
  // CHECK: %[[ZERO:.*]] = cs336.constant dense<0.000000e+00> : tensor<1x2xf32>
  // CHECK-NEXT: return %{{.*}}, %[[DW0]], %[[PARTS]]#0, %[[PARTS]]#1, %[[ZERO]], %
  %zero = cs336.constant dense<0.0> : tensor<4x2xf32> loc("backward"("unused"))
  return %loss, %dw0, %dw1, %dv1, %zero, %dnorm : tensor<f32>, tensor<8x8xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<4x2xf32>, tensor<8xf32>
}

// Without an optimizer, gradients are outputs, which are whole.

// CHECK-LABEL: func.func @gradients
// CHECK-SAME: tensor<2x8xf32> {{.*}}cs336.shards = 4
// CHECK-SAME: -> (tensor<f32> {{.*}}, tensor<8x8xf32> {cs336.kind = "gradient", cs336.name = "w"})
// CHECK: cs336.collective all_gather
// CHECK: cs336.collective all_reduce mean(%{{.*}}, %{{.*}}) group = 4 : (tensor<f32>, tensor<8x8xf32>)
// CHECK-NOT: reduce_scatter
// CHECK: return
func.func @gradients(%w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"}, %x: tensor<f32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<8x8xf32> {cs336.kind = "gradient", cs336.name = "w"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %loss = cs336.neg %x : tensor<f32>
  %dw = cs336.neg %w : tensor<8x8xf32> loc("backward"("w"))
  return %loss, %dw : tensor<f32>, tensor<8x8xf32>
}

// Other entries read the same parts. A result reads the gathered value too.

// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2x8xf32>
// CHECK: %[[WHOLE:.*]] = cs336.collective all_gather(%[[W]])
// CHECK-NEXT: cs336.fused
// CHECK: return %{{.*}}, %[[WHOLE]] : tensor<8x8xf32>, tensor<8x8xf32>
func.func @loss(%w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"}, %unused: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "u"})
    -> (tensor<8x8xf32> {cs336.kind = "output", cs336.name = "y"}, tensor<8x8xf32> {cs336.kind = "output", cs336.name = "w"})
    attributes {cs336.mode = #cs336.mode<loss>} {
  %y = cs336.fused(%w) {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = cs336.neg %a : tensor<8x8xf32>
    cs336.yield %0 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y, %w : tensor<8x8xf32>, tensor<8x8xf32>
}
