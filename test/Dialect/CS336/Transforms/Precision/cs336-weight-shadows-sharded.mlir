// The rounded part of a sharded parameter is derived too, and ranks gather it without rounding it again.

// RUN: cs336-opt %s --cs336-weight-shadows --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-weight-shadows -o %t.mlir && cs336-opt %t.mlir --cs336-weight-shadows | diff %t.mlir -
// RUN: cs336-opt %s --cs336-weight-shadows --convert-cs336-to-exec --mlir-print-debuginfo=false | FileCheck %s --check-prefix=EXEC

// Both gathers read the derived part. The barrier still separates them. What is gathered in float32 has no derived part.
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 2 : i64, cs336.views
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "table", cs336.shards = 2 : i64}
// CHECK-SAME: %[[SHADOW:[^:]*]]: tensor<4x4xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.w", cs336.shards = 2 : i64})
// CHECK-SAME: -> ({{.*}}, tensor<4x4xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.w", cs336.shards = 2 : i64})
// CHECK-NEXT: cs336.collective all_gather(%[[SHADOW]]) group = 2 : (tensor<4x4xbf16>) -> tensor<8x4xbf16>
// CHECK-NEXT: cs336.collective all_gather(%[[TABLE]])
// CHECK-NEXT: %[[AGAIN:.*]] = cs336.barrier %[[SHADOW]] : tensor<4x4xbf16>
// CHECK-NEXT: cs336.collective all_gather(%[[AGAIN]], %[[AGAIN]]) group = 2
// CHECK-NEXT: %[[MOVED:.*]] = cs336.barrier %[[SHADOW]] : tensor<4x4xbf16>
// CHECK-NEXT: %[[OTHER:.*]] = cs336.barrier %[[W]] : tensor<4x4xf32>
// CHECK-NEXT: cs336.collective all_gather(%[[OTHER]], %[[MOVED]])
// CHECK-NEXT: %[[UPDATED:.*]]:4 = cs336.fused(%[[W]],
// CHECK: %[[NEW:.*]], %[[M:.*]], %[[V:.*]] = cs336.adamw
// CHECK-NEXT: %[[ROUNDED:.*]] = cs336.cast %[[NEW]] : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK-NEXT: cs336.yield %[[NEW]], %[[M]], %[[V]], %[[ROUNDED]]
// CHECK-NOT: cs336.cast
// CHECK: return %{{.*}}, %[[UPDATED]]#0, %[[UPDATED]]#1, %[[UPDATED]]#2, %[[UPDATED]]#3 :

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[SHADOW:[^:]*]]: tensor<4x4xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.w", cs336.shards = 2 : i64})
// CHECK-NEXT: cs336.collective all_gather(%[[SHADOW]])
// CHECK-NEXT: return

// Each rank computes its own part after loading.
// CHECK-LABEL: func.func @prepare(
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 2 : i64, cs336.views = {{[^]]*}}]})
// CHECK-SAME: -> (tensor<4x4xbf16> {cs336.kind = "derived", cs336.name = "shadow.bf16.w", cs336.shards = 2 : i64}) attributes {cs336.mode = #cs336.mode<prepare>}
// CHECK-NEXT: %[[ROUNDED:.*]] = cs336.cast %[[W]] : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK-NEXT: return %[[ROUNDED]]

// The update writes the derived part that the next step gathers.
// EXEC: exec.variable @shadow.bf16.w derived : memref<4x4xbf16> {shards = 2 : i64}
// EXEC: exec.entry @train
// EXEC: exec.collective all_gather ins(%shadow.bf16.w : memref<4x4xbf16>)
// EXEC: exec.launch @adamw_cast_{{[0-9a-f]*}} ins(%w, %{{[^,]*}}, %m, %v, %lr, %apply : {{.*}}) outs(%w, %m, %v, %shadow.bf16.w :
// EXEC-NOT: exec.copy

#views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]

func.func @train(%w: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 2 : i64, cs336.views = #views},
                 %table: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "table", cs336.shards = 2 : i64},
                 %g: tensor<4x4xf32> {cs336.kind = "input", cs336.name = "g"},
                 %m: tensor<4x4xf32> {cs336.kind = "state", cs336.name = "m", cs336.shards = 2 : i64},
                 %v: tensor<4x4xf32> {cs336.kind = "state", cs336.name = "v", cs336.shards = 2 : i64},
                 %lr: tensor<f32> {cs336.kind = "input", cs336.name = "lr"},
                 %apply: tensor<i1> {cs336.kind = "input", cs336.name = "apply"})
    -> (tensor<8x4xbf16> {cs336.kind = "output", cs336.name = "x"}, tensor<8x4xf32> {cs336.kind = "output", cs336.name = "y"},
        tensor<8x4xbf16> {cs336.kind = "output", cs336.name = "z"}, tensor<8x4xbf16> {cs336.kind = "output", cs336.name = "u"},
        tensor<8x4xf32> {cs336.kind = "output", cs336.name = "s"}, tensor<8x4xbf16> {cs336.kind = "output", cs336.name = "t"},
        tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 2 : i64, cs336.views = #views},
        tensor<4x4xf32> {cs336.kind = "state", cs336.name = "m", cs336.shards = 2 : i64},
        tensor<4x4xf32> {cs336.kind = "state", cs336.name = "v", cs336.shards = 2 : i64})
    attributes {cs336.mode = #cs336.mode<train>} {
  %part = cs336.cast %w : tensor<4x4xf32> -> tensor<4x4xbf16>
  %x = cs336.collective all_gather(%part) group = 2 : (tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %y = cs336.collective all_gather(%table) group = 2 : (tensor<4x4xf32>) -> tensor<8x4xf32>

  // Two casts behind one barrier.
  %again = cs336.barrier %w : tensor<4x4xf32>
  %part1 = cs336.cast %again : tensor<4x4xf32> -> tensor<4x4xbf16>
  %part2 = cs336.cast %again : tensor<4x4xf32> -> tensor<4x4xbf16>
  %z, %u = cs336.collective all_gather(%part1, %part2) group = 2 : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>)

  // A barrier that a gather in float32 reads too.
  %both = cs336.barrier %w : tensor<4x4xf32>
  %part3 = cs336.cast %both : tensor<4x4xf32> -> tensor<4x4xbf16>
  %s, %t = cs336.collective all_gather(%both, %part3) group = 2 : (tensor<4x4xf32>, tensor<4x4xbf16>) -> (tensor<8x4xf32>, tensor<8x4xbf16>)

  %p1, %m1, %v1 = cs336.adamw %w, %g, %m, %v lr = %lr, correction1 = %lr, correction2 = %lr, scale = %lr, apply = %apply
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
      : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
  return %x, %y, %z, %u, %s, %t, %p1, %m1, %v1 : tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8x4xbf16>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

func.func @loss(%w: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 2 : i64})
    -> (tensor<8x4xbf16> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<loss>} {
  %part = cs336.cast %w : tensor<4x4xf32> -> tensor<4x4xbf16>
  %y = cs336.collective all_gather(%part) group = 2 : (tensor<4x4xbf16>) -> tensor<8x4xbf16>
  return %y : tensor<8x4xbf16>
}
