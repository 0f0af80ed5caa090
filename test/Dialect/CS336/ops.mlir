// Every operation prints what it parses, in its own form, in the generic one and in bytecode.

// RUN: cs336-opt %s --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --mlir-print-debuginfo=false | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --mlir-print-op-generic | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --emit-bytecode | cs336-opt --mlir-print-debuginfo=false | FileCheck %s

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // CHECK: cs336.neg %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.neg %{{.*}} : tensor<4xi32>
  // CHECK: cs336.exp %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.log %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.rsqrt %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.sqrt %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.sin %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.cos %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.tanh %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.erf %{{.*}} : tensor<4x8xf32>
  // CHECK: cs336.sigmoid %{{.*}} : tensor<4x8xf32>
  %0 = cs336.neg %x : tensor<4x8xf32>
  %1 = cs336.neg %i : tensor<4xi32>
  %2 = cs336.exp %x : tensor<4x8xf32>
  %3 = cs336.log %x : tensor<4x8xf32>
  %4 = cs336.rsqrt %x : tensor<4x8xf32>
  %5 = cs336.sqrt %x : tensor<4x8xf32>
  %6 = cs336.sin %x : tensor<4x8xf32>
  %7 = cs336.cos %x : tensor<4x8xf32>
  %8 = cs336.tanh %x : tensor<4x8xf32>
  %9 = cs336.erf %x : tensor<4x8xf32>
  %10 = cs336.sigmoid %x : tensor<4x8xf32>
  return
}

// CHECK-LABEL: @binary
func.func @binary(%x: tensor<4x8xbf16>, %i: tensor<4xi64>) {
  // CHECK: cs336.add %{{.*}}, %{{.*}} : tensor<4x8xbf16>
  // CHECK: cs336.add %{{.*}}, %{{.*}} : tensor<4xi64>
  // CHECK: cs336.sub %{{.*}}, %{{.*}} : tensor<4x8xbf16>
  // CHECK: cs336.mul %{{.*}}, %{{.*}} : tensor<4x8xbf16>
  // CHECK: cs336.div %{{.*}}, %{{.*}} : tensor<4x8xbf16>
  // CHECK: cs336.max %{{.*}}, %{{.*}} : tensor<4x8xbf16>
  // CHECK: cs336.min %{{.*}}, %{{.*}} : tensor<4x8xbf16>
  // CHECK: cs336.pow %{{.*}}, %{{.*}} : tensor<4x8xbf16>
  %0 = cs336.add %x, %x : tensor<4x8xbf16>
  %1 = cs336.add %i, %i : tensor<4xi64>
  %2 = cs336.sub %x, %x : tensor<4x8xbf16>
  %3 = cs336.mul %x, %x : tensor<4x8xbf16>
  %4 = cs336.div %x, %x : tensor<4x8xbf16>
  %5 = cs336.max %x, %x : tensor<4x8xbf16>
  %6 = cs336.min %x, %x : tensor<4x8xbf16>
  %7 = cs336.pow %x, %x : tensor<4x8xbf16>
  return
}

// CHECK-LABEL: @choice
func.func @choice(%x: tensor<4x8xf16>) {
  // CHECK: %[[EQ:.*]] = cs336.compare eq %{{.*}}, %{{.*}} : tensor<4x8xf16>
  // CHECK: cs336.compare ne
  // CHECK: cs336.compare lt
  // CHECK: cs336.compare le
  // CHECK: cs336.compare gt
  // CHECK: cs336.compare ge
  // CHECK: cs336.select %[[EQ]], %{{.*}}, %{{.*}} : tensor<4x8xf16>
  // CHECK: cs336.cast %{{.*}} : tensor<4x8xf16> -> tensor<4x8xf64>
  %0 = cs336.compare eq %x, %x : tensor<4x8xf16>
  %1 = cs336.compare ne %x, %x : tensor<4x8xf16>
  %2 = cs336.compare lt %x, %x : tensor<4x8xf16>
  %3 = cs336.compare le %x, %x : tensor<4x8xf16>
  %4 = cs336.compare gt %x, %x : tensor<4x8xf16>
  %5 = cs336.compare ge %x, %x : tensor<4x8xf16>
  %6 = cs336.select %0, %x, %x : tensor<4x8xf16>
  %7 = cs336.cast %x : tensor<4x8xf16> -> tensor<4x8xf64>
  return
}

// CHECK-LABEL: @logic
func.func @logic(%p: tensor<4x8xi1>, %q: tensor<4x8xi1>) {
  // CHECK: %[[AND:.*]] = cs336.and %{{.*}}, %{{.*}} : tensor<4x8xi1>
  // CHECK: %[[OR:.*]] = cs336.or %[[AND]], %{{.*}} : tensor<4x8xi1>
  // CHECK: cs336.not %[[OR]] : tensor<4x8xi1>
  %0 = cs336.and %p, %q : tensor<4x8xi1>
  %1 = cs336.or %0, %q : tensor<4x8xi1>
  %2 = cs336.not %1 : tensor<4x8xi1>
  return
}

// CHECK-LABEL: @sources
func.func @sources() {
  // CHECK: cs336.constant dense<5.000000e-01> : tensor<4x8xf32>
  // CHECK: cs336.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: cs336.iota axis = 1 : tensor<3x2xi32>
  %0 = cs336.constant dense<5.0e-01> : tensor<4x8xf32>
  %1 = cs336.constant dense<[1, 2]> : tensor<2xi64>
  %2 = cs336.iota axis = 1 : tensor<3x2xi32>
  return
}

// CHECK-LABEL: @layout
func.func @layout(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>) {
  // CHECK: cs336.broadcast %{{.*}} dims = [0, 2] : tensor<4x8xf32> -> tensor<4x16x8xf32>
  // CHECK: cs336.broadcast %{{.*}} dims = [0, 1] : tensor<4x8xi1> -> tensor<4x8x2xi1>
  // CHECK: cs336.reshape %{{.*}} : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK: cs336.transpose %{{.*}} perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: cs336.slice %{{.*}} offsets = [1, 4] : tensor<4x8xf32> -> tensor<2x4xf32>
  // CHECK: cs336.pad %{{.*}} offsets = [1, 0] : tensor<4x8xf32> -> tensor<6x8xf32>
  // CHECK: cs336.concat axis = 1 %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  %0 = cs336.broadcast %x dims = [0, 2] : tensor<4x8xf32> -> tensor<4x16x8xf32>
  %1 = cs336.broadcast %p dims = [0, 1] : tensor<4x8xi1> -> tensor<4x8x2xi1>
  %2 = cs336.reshape %x : tensor<4x8xf32> -> tensor<2x16xf32>
  %3 = cs336.transpose %x perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %4 = cs336.slice %x offsets = [1, 4] : tensor<4x8xf32> -> tensor<2x4xf32>
  %5 = cs336.pad %x offsets = [1, 0] : tensor<4x8xf32> -> tensor<6x8xf32>
  %6 = cs336.concat axis = 1 %x, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: @products
func.func @products(%a: tensor<2x4x8xf32>, %b: tensor<2x8x3xf32>, %w: tensor<3x8xf32>, %table: tensor<9x8xf32>,
                    %ids: tensor<2x4xi64>) {
  // CHECK: cs336.reduce sum %{{.*}} axes = [0, 2] : tensor<2x4x8xf32> -> tensor<4xf32>
  // CHECK: cs336.reduce max %{{.*}} axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  // CHECK: cs336.matmul %{{.*}}, %{{.*}} : tensor<2x4x8xf32>, tensor<2x8x3xf32> -> tensor<2x4x3xf32>
  // CHECK: cs336.matmul %{{.*}}, %{{.*}} {transpose_a, transpose_b} : tensor<2x8x3xf32>, tensor<2x4x8xf32> -> tensor<2x3x4xf32>
  // CHECK: cs336.matmul %{{.*}}, %{{.*}} {precision = #cs336.precision<tf32x3>, transpose_b} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  // CHECK: cs336.matmul %{{.*}}, %{{.*}} add %{{.*}} {transpose_b} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  // CHECK: cs336.matmul %{{.*}}, %{{.*}} bias %{{.*}} {relu, transpose_b} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  // CHECK: cs336.matmul %{{.*}}, %{{.*}} add %{{.*}} bias %{{.*}} {transpose_b} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  // CHECK: cs336.embedding %{{.*}}, %{{.*}} : tensor<9x8xf32>, tensor<2x4xi64> -> tensor<2x4x8xf32>
  // CHECK: cs336.embedding_grad %{{.*}}, %{{.*}} : tensor<2x4xi64>, tensor<2x4x8xf32> -> tensor<9x8xf32>
  // CHECK: cs336.check_bound %{{.*}} bound = 9 : tensor<2x4xi64>
  %0 = cs336.reduce sum %a axes = [0, 2] : tensor<2x4x8xf32> -> tensor<4xf32>
  %1 = cs336.reduce max %a axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %2 = cs336.matmul %a, %b : tensor<2x4x8xf32>, tensor<2x8x3xf32> -> tensor<2x4x3xf32>
  %3 = cs336.matmul %b, %a {transpose_a, transpose_b} : tensor<2x8x3xf32>, tensor<2x4x8xf32> -> tensor<2x3x4xf32>
  %4 = cs336.matmul %a, %w {transpose_b, precision = #cs336.precision<tf32x3>} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  %sum = cs336.matmul %a, %w add %4 {transpose_b} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  %row = cs336.constant dense<1.0> : tensor<3xf32>
  %rectified = cs336.matmul %a, %w bias %row {relu, transpose_b} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  %both = cs336.matmul %a, %w add %4 bias %row {transpose_b} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  %5 = cs336.embedding %table, %ids : tensor<9x8xf32>, tensor<2x4xi64> -> tensor<2x4x8xf32>
  %6 = cs336.embedding_grad %ids, %a : tensor<2x4xi64>, tensor<2x4x8xf32> -> tensor<9x8xf32>
  %7 = cs336.check_bound %ids bound = 9 : tensor<2x4xi64>
  return
}

// CHECK-LABEL: @composites
func.func @composites(%x: tensor<2x4x8xf32>, %w: tensor<3x8xf32>, %s: tensor<8xf32>, %t: tensor<2x4xi64>) {
  // CHECK: cs336.linear %{{.*}}, %{{.*}} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  // CHECK: cs336.linear %{{.*}}, %{{.*}} {precision = #cs336.precision<tf32>} : tensor<2x4x8xf32>
  // CHECK: cs336.silu %{{.*}} : tensor<2x4x8xf32>
  // CHECK: cs336.relu %{{.*}} : tensor<2x4x8xf32>
  // CHECK: cs336.gelu %{{.*}} : tensor<2x4x8xf32>
  // CHECK: cs336.gelu %{{.*}} {tanh} : tensor<2x4x8xf32>
  // CHECK: cs336.rms_norm %{{.*}}, %{{.*}} eps = 1.000000e-05 : tensor<2x4x8xf32>, tensor<8xf32>
  // CHECK: cs336.layer_norm %{{.*}}, %{{.*}}, %{{.*}} eps = 1.000000e-05 : tensor<2x4x8xf32>, tensor<8xf32>
  // CHECK: cs336.rope %{{.*}} theta = 1.000000e+04 : tensor<2x4x8xf32>
  // CHECK: cs336.cross_entropy %{{.*}}, %{{.*}} : tensor<2x4x8xf32>, tensor<2x4xi64> -> tensor<f32>
  %0 = cs336.linear %x, %w : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  %1 = cs336.linear %x, %w {precision = #cs336.precision<tf32>} : tensor<2x4x8xf32>, tensor<3x8xf32> -> tensor<2x4x3xf32>
  %2 = cs336.silu %x : tensor<2x4x8xf32>
  %3 = cs336.relu %x : tensor<2x4x8xf32>
  %4 = cs336.gelu %x : tensor<2x4x8xf32>
  %5 = cs336.gelu %x {tanh} : tensor<2x4x8xf32>
  %6 = cs336.rms_norm %x, %s eps = 1.0e-05 : tensor<2x4x8xf32>, tensor<8xf32>
  %7 = cs336.layer_norm %x, %s, %s eps = 1.0e-05 : tensor<2x4x8xf32>, tensor<8xf32>
  %8 = cs336.rope %x theta = 1.0e+04 : tensor<2x4x8xf32>
  %9 = cs336.cross_entropy %x, %t : tensor<2x4x8xf32>, tensor<2x4xi64> -> tensor<f32>
  return
}

// CHECK-LABEL: @group
func.func @group(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: cs336.fused(%{{.*}}, %{{.*}}) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4x8xf32>):
  // CHECK-NEXT:   %[[S:.*]] = cs336.sigmoid %[[A]] : tensor<4x8xf32>
  // CHECK-NEXT:   %[[M:.*]] = cs336.mul %[[S]], %[[B]] : tensor<4x8xf32>
  // CHECK-NEXT:   cs336.yield %[[M]] : tensor<4x8xf32>
  // CHECK-NEXT: } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = cs336.fused(%x, %z) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>):
    %s = cs336.sigmoid %a : tensor<4x8xf32>
    %m = cs336.mul %s, %b : tensor<4x8xf32>
    cs336.yield %m : tensor<4x8xf32>
  } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @update
func.func @update(%p: tensor<4xbf16>, %g: tensor<4xbf16>, %m: tensor<4xf32>, %s: tensor<f32>, %yes: tensor<i1>) {
  // CHECK: cs336.adamw %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} lr = %{{.*}}, correction1 = %{{.*}}, correction2 = %{{.*}}, scale = %{{.*}}, apply = %{{.*}} {
  // CHECK-SAME: form = #cs336.adamw_form<cs336_2025>
  // CHECK-SAME: : tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<f32>
  %0:3 = cs336.adamw %p, %g, %m, %m lr = %s, correction1 = %s, correction2 = %s, scale = %s, apply = %yes
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64, form = #cs336.adamw_form<cs336_2025>}
      : tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<f32>
  return
}

// CHECK-LABEL: @collectives
func.func @collectives(%x: tensor<16x8xf32>) {
  // CHECK: cs336.collective all_reduce sum(%{{.*}}) group = 4 : (tensor<16x8xf32>) -> tensor<16x8xf32>
  // CHECK: cs336.collective all_gather(%{{.*}}) group = 4 : (tensor<16x8xf32>) -> tensor<64x8xf32>
  // CHECK: cs336.collective reduce_scatter max(%{{.*}}) group = 4 : (tensor<16x8xf32>) -> tensor<4x8xf32>
  // CHECK: cs336.collective broadcast(%{{.*}}) group = 4 root = 3 : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %0 = cs336.collective all_reduce sum(%x) group = 4 : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %1 = cs336.collective all_gather(%x) group = 4 : (tensor<16x8xf32>) -> tensor<64x8xf32>
  %2 = cs336.collective reduce_scatter max(%x) group = 4 : (tensor<16x8xf32>) -> tensor<4x8xf32>
  %3 = cs336.collective broadcast(%x) group = 4 root = 3 : (tensor<16x8xf32>) -> tensor<16x8xf32>
  // CHECK: cs336.collective all_to_all(%{{.*}}) group = 4 : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %4 = cs336.collective all_to_all(%x) group = 4 : (tensor<16x8xf32>) -> tensor<16x8xf32>
  // CHECK: cs336.collective all_reduce mean(%{{.*}}, %{{.*}}) group = 4 : (tensor<16x8xf32>, tensor<64x8xf32>) -> (tensor<16x8xf32>, tensor<64x8xf32>)
  %5:2 = cs336.collective all_reduce mean(%x, %1) group = 4 : (tensor<16x8xf32>, tensor<64x8xf32>) -> (tensor<16x8xf32>, tensor<64x8xf32>)
  return
}

// CHECK-LABEL: @scalars
func.func @scalars(%scalar: tensor<f32>) {
  // CHECK: cs336.add %{{.*}}, %{{.*}} : tensor<f32>
  // CHECK: cs336.reduce sum %{{.*}} axes = [] : tensor<f32> -> tensor<f32>
  // CHECK: cs336.broadcast %{{.*}} dims = [] : tensor<f32> -> tensor<3xf32>
  %0 = cs336.add %scalar, %scalar : tensor<f32>
  %1 = cs336.reduce sum %scalar axes = [] : tensor<f32> -> tensor<f32>
  %2 = cs336.broadcast %scalar dims = [] : tensor<f32> -> tensor<3xf32>
  return
}
