// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=per-parameter' | FileCheck %s --check-prefixes=CHECK,PARAMETER
// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=flat' | FileCheck %s --check-prefixes=CHECK,FLAT
// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=overlap' | FileCheck %s --check-prefixes=CHECK,OVERLAP
// RUN: cs336-opt %s --cs336-distribute='world-size=4 bucket-mib=0.0001' | FileCheck %s --check-prefixes=CHECK,BUCKET
// RUN: cs336-opt %s --cs336-distribute='world-size=4 mode=bucket bucket-mib=1000' | FileCheck %s --check-prefixes=CHECK,LARGE

// One rank changes nothing, and a second run changes nothing.
// RUN: cs336-opt %s -o %t.mlir
// RUN: cs336-opt %s --cs336-distribute | diff - %t.mlir
// RUN: cs336-opt %s --cs336-distribute='world-size=1 mode=overlap' | diff - %t.mlir
// RUN: cs336-opt %s --cs336-distribute=world-size=4 -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --cs336-distribute=world-size=4 | diff - %t.once.mlir

// The gradient of %v is ready first. It is exchanged in bf16 and then widened. The gradient of %w is ready next, and is
// that of %same too. The gradient of %unused is zero on every rank.

// CHECK-LABEL: func.func @train
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>
func.func @train(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
                 %w: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w"},
                 %same: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "same"},
                 %v: tensor<8x2xf32> {cs336.kind = "parameter", cs336.name = "v"},
                 %unused: tensor<2xf32> {cs336.kind = "parameter", cs336.name = "unused"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<4x2xf32> {cs336.kind = "output", cs336.name = "z"},
        tensor<8x8xf32> {cs336.kind = "gradient", cs336.name = "w"}, tensor<8x8xf32> {cs336.kind = "gradient", cs336.name = "same"},
        tensor<8x2xf32> {cs336.kind = "gradient", cs336.name = "v"}, tensor<2xf32> {cs336.kind = "gradient", cs336.name = "unused"})
    attributes {cs336.mode = #cs336.mode<train>} {
  // CHECK: %[[Y:.*]] = cs336.matmul %[[X]], %
  // CHECK: %[[Z:.*]] = cs336.matmul %[[Y]], %
  %y = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %z = cs336.matmul %y, %v : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>

  // CHECK: %[[LOSS:.*]] = cs336.reduce sum
  // OVERLAP-NEXT: %[[LOSS_MEAN:.*]] = cs336.collective all_reduce mean(%[[LOSS]]) group = 4 : (tensor<f32>) -> tensor<f32>
  %loss = cs336.reduce sum %z axes = [0, 1] : tensor<4x2xf32> -> tensor<f32>

  // CHECK: %[[DV:.*]] = cs336.matmul {{.*}} -> tensor<8x2xbf16>
  // OVERLAP-NEXT: %[[DV_NARROW:.*]] = cs336.collective all_reduce mean(%[[DV]]) group = 4 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  // OVERLAP-NEXT: %[[DV_MEAN:.*]] = cs336.cast %[[DV_NARROW]] : tensor<8x2xbf16> -> tensor<8x2xf32>
  // BUCKET-NEXT: %[[DV_NARROW:.*]] = cs336.collective all_reduce mean(%[[DV]]) group = 4 : (tensor<8x2xbf16>) -> tensor<8x2xbf16>
  // BUCKET-NEXT: %[[DV_MEAN:.*]] = cs336.cast %[[DV_NARROW]]
  // LARGE-NEXT: cs336.collective all_reduce mean(%[[DV]]) group = 4
  // CHECK-NOT: cs336.cast %[[DV]]
  %one = cs336.constant dense<1.0> : tensor<4x2xf32>
  %one_bf16 = cs336.constant dense<1.0> : tensor<4x2xbf16>
  %y_bf16 = cs336.cast %y : tensor<4x8xf32> -> tensor<4x8xbf16>
  %dv_bf16 = cs336.matmul %y_bf16, %one_bf16 {transpose_a} : tensor<4x8xbf16>, tensor<4x2xbf16> -> tensor<8x2xbf16>
  %dv = cs336.cast %dv_bf16 : tensor<8x2xbf16> -> tensor<8x2xf32>

  // CHECK: %[[DY:.*]] = cs336.matmul
  %dy = cs336.matmul %one, %v {transpose_b} : tensor<4x2xf32>, tensor<8x2xf32> -> tensor<4x8xf32>

  // A gradient of two uses is ready after their addition.
  // CHECK: cs336.matmul
  // CHECK: cs336.matmul
  // CHECK-NEXT: %[[DW:.*]] = cs336.add
  // OVERLAP-NEXT: %[[DW_MEAN:.*]] = cs336.collective all_reduce mean(%[[DW]]) group = 4 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // Each type has buckets of its own.
  // BUCKET: %[[MEAN:.*]]:2 = cs336.collective all_reduce mean(%[[LOSS]], %[[DW]]) group = 4 : (tensor<f32>, tensor<8x8xf32>) -> (tensor<f32>, tensor<8x8xf32>)
  // LARGE: %[[MEAN:.*]]:2 = cs336.collective all_reduce mean(%[[LOSS]], %[[DW]]) group = 4
  %dw0 = cs336.matmul %x, %dy {transpose_a} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %dw1 = cs336.matmul %y, %dy {transpose_a} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %dw = cs336.add %dw0, %dw1 : tensor<8x8xf32>

  // CHECK: cs336.neg
  // PARAMETER: %[[LOSS_MEAN:.*]] = cs336.collective all_reduce mean(%[[LOSS]]) group = 4
  // PARAMETER-NEXT: %[[DW_MEAN:.*]] = cs336.collective all_reduce mean(%[[DW]]) group = 4
  // PARAMETER-NEXT: %[[DV_NARROW:.*]] = cs336.collective all_reduce mean(%[[DV]]) group = 4
  // PARAMETER-NEXT: %[[DV_MEAN:.*]] = cs336.cast %[[DV_NARROW]]
  // FLAT: %[[MEAN:.*]]:3 = cs336.collective all_reduce mean(%[[LOSS]], %[[DW]], %[[DV]]) group = 4 : (tensor<f32>, tensor<8x8xf32>, tensor<8x2xbf16>) -> (tensor<f32>, tensor<8x8xf32>, tensor<8x2xbf16>)
  // FLAT-NEXT: %[[DV_MEAN:.*]] = cs336.cast %[[MEAN]]#2
  %zero = cs336.constant dense<0.0> : tensor<2xf32>
  %z1 = cs336.neg %z : tensor<4x2xf32>

  // CHECK-NOT: cs336.collective
  // PARAMETER: return %[[LOSS_MEAN]], %{{.*}}, %[[DW_MEAN]], %[[DW_MEAN]], %[[DV_MEAN]], %{{.*}}
  // FLAT: return %[[MEAN]]#0, %{{.*}}, %[[MEAN]]#1, %[[MEAN]]#1, %[[DV_MEAN]], %{{.*}}
  // OVERLAP: return %[[LOSS_MEAN]], %{{.*}}, %[[DW_MEAN]], %[[DW_MEAN]], %[[DV_MEAN]], %{{.*}}
  // BUCKET: return %[[MEAN]]#0, %{{.*}}, %[[MEAN]]#1, %[[MEAN]]#1, %[[DV_MEAN]], %{{.*}}
  // LARGE: return %[[MEAN]]#0, %{{.*}}, %[[MEAN]]#1, %[[MEAN]]#1
  return %loss, %z1, %dw, %dw, %dv, %zero : tensor<f32>, tensor<4x2xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x2xf32>, tensor<2xf32>
}

// Gradients are averaged without an optimizer too. 104 bytes of 0.0001 MiB complete the first bucket.

// CHECK-LABEL: func.func @gradients
// BUCKET: cs336.neg
// BUCKET-NEXT: %[[A:.*]] = cs336.neg
// BUCKET-NEXT: %[[FIRST:.*]]:2 = cs336.collective all_reduce mean(%{{.*}}, %[[A]]) group = 4 : (tensor<f32>, tensor<32xf32>) -> (tensor<f32>, tensor<32xf32>)
// BUCKET-NEXT: %[[B:.*]] = cs336.neg
// BUCKET-NEXT: %[[SECOND:.*]] = cs336.collective all_reduce mean(%[[B]]) group = 4 : (tensor<2xf32>) -> tensor<2xf32>
// BUCKET-NEXT: return %[[FIRST]]#0, %[[SECOND]], %[[FIRST]]#1
func.func @gradients(%a: tensor<32xf32> {cs336.kind = "parameter", cs336.name = "a"}, %b: tensor<2xf32> {cs336.kind = "parameter", cs336.name = "b"},
                     %x: tensor<f32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<2xf32> {cs336.kind = "gradient", cs336.name = "b"},
        tensor<32xf32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %loss = cs336.neg %x : tensor<f32>
  %da = cs336.neg %a : tensor<32xf32>
  %db = cs336.neg %b : tensor<2xf32>
  return %loss, %db, %da : tensor<f32>, tensor<2xf32>, tensor<32xf32>
}

// Other entries run on each rank alone.

// CHECK-LABEL: func.func @loss
// CHECK-NOT: cs336.collective
func.func @loss(%x: tensor<f32> {cs336.kind = "input", cs336.name = "x"}) -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<loss>} {
  %loss = cs336.neg %x : tensor<f32>
  return %loss : tensor<f32>
}
