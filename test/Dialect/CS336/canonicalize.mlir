// Rewrites of several operations.

// RUN: cs336-opt %s --canonicalize --mlir-print-debuginfo=false | FileCheck %s

// CHECK-LABEL: @sum_of_pads
// CHECK-SAME: (%[[A:.*]]: tensor<4x2xf32>, %[[B:.*]]: tensor<4x3xf32>, %[[C:.*]]: tensor<4x1xf32>)
func.func @sum_of_pads(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>, %c: tensor<4x1xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %[[R:.*]] = cs336.concat axis = 1 %[[A]], %[[B]], %[[C]] : {{.*}} -> tensor<4x6xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = cs336.pad %b offsets = [0, 2] : tensor<4x3xf32> -> tensor<4x6xf32>
  %1 = cs336.pad %c offsets = [0, 5] : tensor<4x1xf32> -> tensor<4x6xf32>
  %2 = cs336.add %0, %1 : tensor<4x6xf32>
  %3 = cs336.pad %a offsets = [0, 0] : tensor<4x2xf32> -> tensor<4x6xf32>
  %4 = cs336.add %2, %3 : tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}

// CHECK-LABEL: @pads_that_overlap
func.func @pads_that_overlap(%a: tensor<4x4xf32>) -> tensor<4x6xf32> {
  // CHECK-NOT: cs336.concat
  // CHECK: cs336.add
  %0 = cs336.pad %a offsets = [0, 0] : tensor<4x4xf32> -> tensor<4x6xf32>
  %1 = cs336.pad %a offsets = [0, 2] : tensor<4x4xf32> -> tensor<4x6xf32>
  %2 = cs336.add %0, %1 : tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// CHECK-LABEL: @pads_with_a_gap
func.func @pads_with_a_gap(%a: tensor<4x2xf32>) -> tensor<4x6xf32> {
  // CHECK-NOT: cs336.concat
  // CHECK: cs336.add
  %0 = cs336.pad %a offsets = [0, 0] : tensor<4x2xf32> -> tensor<4x6xf32>
  %1 = cs336.pad %a offsets = [0, 4] : tensor<4x2xf32> -> tensor<4x6xf32>
  %2 = cs336.add %0, %1 : tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// CHECK-LABEL: @pads_along_two_axes
func.func @pads_along_two_axes(%a: tensor<2x6xf32>, %b: tensor<4x3xf32>) -> tensor<4x6xf32> {
  // CHECK-NOT: cs336.concat
  // CHECK: cs336.add
  %0 = cs336.pad %a offsets = [0, 0] : tensor<2x6xf32> -> tensor<4x6xf32>
  %1 = cs336.pad %b offsets = [0, 3] : tensor<4x3xf32> -> tensor<4x6xf32>
  %2 = cs336.add %0, %1 : tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// CHECK-LABEL: @matmul_of_transposed
// CHECK-SAME: (%[[A:.*]]: tensor<2x8x4xf32>, %[[B:.*]]: tensor<2x3x8xf32>)
func.func @matmul_of_transposed(%a: tensor<2x8x4xf32>, %b: tensor<2x3x8xf32>) -> (tensor<2x4x3xf32>, tensor<2x8x8xf32>) {
  // CHECK-NEXT: cs336.matmul %[[A]], %[[B]] {transpose_a, transpose_b}
  // CHECK-NEXT: cs336.matmul %[[B]], %[[B]] {transpose_a} :
  %0 = cs336.transpose %a perm = [0, 2, 1] : tensor<2x8x4xf32> -> tensor<2x4x8xf32>
  %1 = cs336.transpose %b perm = [0, 2, 1] : tensor<2x3x8xf32> -> tensor<2x8x3xf32>
  %2 = cs336.matmul %0, %1 : tensor<2x4x8xf32>, tensor<2x8x3xf32> -> tensor<2x4x3xf32>
  %3 = cs336.matmul %1, %b : tensor<2x8x3xf32>, tensor<2x3x8xf32> -> tensor<2x8x8xf32>
  return %2, %3 : tensor<2x4x3xf32>, tensor<2x8x8xf32>
}

// A matmul cannot absorb a transposition that moves a batch axis.
// CHECK-LABEL: @matmul_of_moved_heads
func.func @matmul_of_moved_heads(%a: tensor<5x2x4xf32>, %b: tensor<2x4x3xf32>) -> tensor<2x5x3xf32> {
  // CHECK: cs336.transpose
  // CHECK: cs336.matmul %{{.*}}, %{{.*}} : tensor<2x5x4xf32>
  %0 = cs336.transpose %a perm = [1, 0, 2] : tensor<5x2x4xf32> -> tensor<2x5x4xf32>
  %1 = cs336.matmul %0, %b : tensor<2x5x4xf32>, tensor<2x4x3xf32> -> tensor<2x5x3xf32>
  return %1 : tensor<2x5x3xf32>
}

// CHECK-LABEL: @transpose_of_unit_axes
func.func @transpose_of_unit_axes(%x: tensor<2x1x4x1xf32>) -> tensor<1x2x1x4xf32> {
  // CHECK-NEXT: cs336.reshape %{{.*}} : tensor<2x1x4x1xf32> -> tensor<1x2x1x4xf32>
  %0 = cs336.transpose %x perm = [1, 0, 3, 2] : tensor<2x1x4x1xf32> -> tensor<1x2x1x4xf32>
  return %0 : tensor<1x2x1x4xf32>
}

// CHECK-LABEL: @slices
// CHECK-SAME: (%[[X:.*]]: tensor<8x8xf32>, %[[Y:.*]]: tensor<8x4xf32>)
func.func @slices(%x: tensor<8x8xf32>, %y: tensor<8x4xf32>) -> (tensor<2x2xf32>, tensor<8x4xf32>, tensor<8x2xf32>, tensor<8x6xf32>, tensor<8x4xf32>) {
  // CHECK: %[[A:.*]] = cs336.slice %[[X]] offsets = [3, 5] : tensor<8x8xf32> -> tensor<2x2xf32>
  // CHECK: %[[C:.*]] = cs336.concat
  // CHECK: %[[P:.*]] = cs336.slice %[[X]] offsets = [0, 3] : tensor<8x8xf32> -> tensor<8x2xf32>
  // CHECK: %[[ACROSS:.*]] = cs336.slice %[[C]] offsets = [0, 4] : tensor<8x12xf32> -> tensor<8x6xf32>
  // CHECK: return %[[A]], %[[Y]], %[[P]], %[[ACROSS]], %[[Y]]
  %0 = cs336.slice %x offsets = [1, 1] : tensor<8x8xf32> -> tensor<6x6xf32>
  %1 = cs336.slice %0 offsets = [2, 4] : tensor<6x6xf32> -> tensor<2x2xf32>
  %2 = cs336.concat axis = 1 %x, %y : tensor<8x8xf32>, tensor<8x4xf32> -> tensor<8x12xf32>
  %3 = cs336.slice %2 offsets = [0, 8] : tensor<8x12xf32> -> tensor<8x4xf32>
  %4 = cs336.slice %2 offsets = [0, 3] : tensor<8x12xf32> -> tensor<8x2xf32>
  %5 = cs336.slice %2 offsets = [0, 4] : tensor<8x12xf32> -> tensor<8x6xf32>
  %6 = cs336.pad %y offsets = [0, 3] : tensor<8x4xf32> -> tensor<8x9xf32>
  %7 = cs336.slice %6 offsets = [0, 3] : tensor<8x9xf32> -> tensor<8x4xf32>
  return %1, %3, %4, %5, %7 : tensor<2x2xf32>, tensor<8x4xf32>, tensor<8x2xf32>, tensor<8x6xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @broadcasts
func.func @broadcasts(%x: tensor<4xf32>) -> tensor<2x3x4x5xf32> {
  // CHECK-NEXT: cs336.broadcast %{{.*}} dims = [2] : tensor<4xf32> -> tensor<2x3x4x5xf32>
  %0 = cs336.broadcast %x dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
  %1 = cs336.broadcast %0 dims = [0, 2] : tensor<2x4xf32> -> tensor<2x3x4x5xf32>
  return %1 : tensor<2x3x4x5xf32>
}

// CHECK-LABEL: @reduce_of_one
func.func @reduce_of_one(%x: tensor<4x1xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x1xf32>) {
  // CHECK-NEXT: cs336.reshape %{{.*}} : tensor<4x1xf32> -> tensor<4xf32>
  // CHECK-NEXT: cs336.reduce max %{{.*}} axes = [1] {stop_gradient}
  // CHECK-NEXT: cs336.reduce max %{{.*}} axes = [] {stop_gradient}
  %0 = cs336.reduce sum %x axes = [1] : tensor<4x1xf32> -> tensor<4xf32>
  %1 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x1xf32> -> tensor<4xf32>
  %2 = cs336.reduce max %x axes = [] {stop_gradient} : tensor<4x1xf32> -> tensor<4x1xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4x1xf32>
}

// The negation of a comparison is the opposite comparison. An order of floats has none: NaN is neither less nor greater.
// CHECK-LABEL: @negated_comparisons
func.func @negated_comparisons(%i: tensor<4xi64>, %j: tensor<4xi64>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  // CHECK: %[[GE:.*]] = cs336.compare ge %{{.*}}, %{{.*}} : tensor<4xi64>
  %lt = cs336.compare lt %i, %j : tensor<4xi64>
  %0 = cs336.not %lt : tensor<4xi1>
  // CHECK: %[[NE:.*]] = cs336.compare ne %{{.*}}, %{{.*}} : tensor<4xf32>
  %eq = cs336.compare eq %x, %y : tensor<4xf32>
  %1 = cs336.not %eq : tensor<4xi1>
  // CHECK: %[[LT:.*]] = cs336.compare lt %{{.*}}, %{{.*}} : tensor<4xf32>
  // CHECK: %[[NOT:.*]] = cs336.not %[[LT]]
  %order = cs336.compare lt %x, %y : tensor<4xf32>
  %2 = cs336.not %order : tensor<4xi1>
  // CHECK: return %[[GE]], %[[NE]], %[[NOT]]
  return %0, %1, %2 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}
