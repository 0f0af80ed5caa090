// RUN: cs336-opt %s --split-input-file --cs336-move-layouts --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --cs336-move-layouts -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --split-input-file --cs336-move-layouts -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: cs336-opt %s --split-input-file --cs336-move-layouts --pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNTS

// Two layout operations in a row move before a conversion, one after the other.
// COUNTS: cs336-move-layouts  num-absorbed {{ *}}0  Number of conversions and multiplications moved into groups
// COUNTS-NEXT: cs336-move-layouts  num-moved {{ *}}2  Number of layout operations moved to the border of a kernel
// CHECK-LABEL: func.func @stack(
// CHECK-SAME: %[[X:.*]]: tensor<4x16xbf16>)
func.func @stack(%x: tensor<4x16xbf16>) -> tensor<2x4x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = cs336.reshape %[[X]] : tensor<4x16xbf16> -> tensor<4x2x8xbf16>
  // CHECK-NEXT: %[[T:.*]] = cs336.transpose %[[R]] perm = [1, 0, 2] : tensor<4x2x8xbf16> -> tensor<2x4x8xbf16>
  // CHECK-NEXT: %[[C:.*]] = cs336.cast %[[T]]
  // CHECK-NEXT: %[[Y:.*]] = cs336.exp %[[C]]
  // CHECK-NEXT: return %[[Y]]
  %c = cs336.cast %x : tensor<4x16xbf16> -> tensor<4x16xf32>
  %r = cs336.reshape %c : tensor<4x16xf32> -> tensor<4x2x8xf32>
  %t = cs336.transpose %r perm = [1, 0, 2] : tensor<4x2x8xf32> -> tensor<2x4x8xf32>
  %y = cs336.exp %t : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// A slice moves before an addition, to both operands. The splat becomes one of the slice's size.
// CHECK-LABEL: func.func @operands(
// CHECK-SAME: %[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4x8xf32>)
func.func @operands(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %[[SA:.*]] = cs336.slice %[[A]] offsets = [0, 4]
  // CHECK-NEXT: %[[SB:.*]] = cs336.slice %[[B]] offsets = [0, 4]
  // CHECK-NEXT: %[[S:.*]] = cs336.add %[[SA]], %[[SB]] : tensor<4x4xf32>
  // CHECK-NEXT: %[[HALF:.*]] = cs336.constant dense<5.0{{.*}}> : tensor<4x4xf32>
  // CHECK-NEXT: %[[M:.*]] = cs336.mul %[[S]], %[[HALF]] : tensor<4x4xf32>
  // CHECK-NEXT: %[[Y:.*]] = cs336.exp %[[M]]
  // CHECK-NEXT: return %[[Y]]
  %half = cs336.constant dense<5.0e-01> : tensor<4x8xf32>
  %s = cs336.add %a, %b : tensor<4x8xf32>
  %m = cs336.mul %s, %half : tensor<4x8xf32>
  %r = cs336.slice %m offsets = [0, 4] : tensor<4x8xf32> -> tensor<4x4xf32>
  %y = cs336.exp %r : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Not moved: what another operation reads as it is, and what no kernel reads afterwards.
// CHECK-LABEL: func.func @kept(
func.func @kept(%a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>, tensor<32xf32>) {
  // CHECK-NEXT: %[[E:.*]] = cs336.exp
  // CHECK-NEXT: %[[T:.*]] = cs336.transpose %[[E]]
  // CHECK-NEXT: %[[Y:.*]] = cs336.tanh %[[T]]
  // CHECK-NEXT: %[[R:.*]] = cs336.reshape %[[Y]]
  // CHECK-NEXT: return %[[E]], %[[Y]], %[[R]]
  %e = cs336.exp %a : tensor<4x8xf32>
  %t = cs336.transpose %e perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %y = cs336.tanh %t : tensor<8x4xf32>
  %r = cs336.reshape %y : tensor<8x4xf32> -> tensor<32xf32>
  return %e, %y, %r : tensor<4x8xf32>, tensor<8x4xf32>, tensor<32xf32>
}

// -----

// Two readers of a conversion read equal layout operations after both have moved: they become one.
// CHECK-LABEL: func.func @readers(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>)
func.func @readers(%x: tensor<4x8xbf16>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK-NEXT: %[[T:.*]] = cs336.transpose %[[X]] perm = [1, 0]
  // CHECK-NEXT: %[[C:.*]] = cs336.cast %[[T]]
  // CHECK-NEXT: %[[E:.*]] = cs336.exp %[[C]]
  // CHECK-NEXT: %[[S:.*]] = cs336.sin %[[C]]
  // CHECK-NEXT: return %[[E]], %[[S]]
  %c = cs336.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %t0 = cs336.transpose %c perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %t1 = cs336.transpose %c perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %e = cs336.exp %t0 : tensor<8x4xf32>
  %s = cs336.sin %t1 : tensor<8x4xf32>
  return %e, %s : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// A transposed broadcast is a broadcast along other axes. One whose operand would be transposed stays.
// CHECK-LABEL: func.func @broadcasts(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[ROW:.*]]: tensor<8xf32>)
func.func @broadcasts(%x: tensor<4x8xf32>, %row: tensor<8xf32>) -> tensor<8x4xf32> {
  // CHECK-DAG: %[[T:.*]] = cs336.transpose %[[X]] perm = [1, 0]
  // CHECK-DAG: %[[B:.*]] = cs336.broadcast %[[ROW]] dims = [0] : tensor<8xf32> -> tensor<8x4xf32>
  // CHECK: %[[M:.*]] = cs336.mul %[[T]], %[[B]] : tensor<8x4xf32>
  // CHECK-NEXT: cs336.exp %[[M]]
  %b = cs336.broadcast %row dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %m = cs336.mul %x, %b : tensor<4x8xf32>
  %t = cs336.transpose %m perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %y = cs336.exp %t : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// A conversion moves before a concatenation, to its parts; the reshape follows the concatenation.
// CHECK-LABEL: func.func @concatenation(
func.func @concatenation(%a: tensor<4x3x1xf32>, %b: tensor<4x3x1xf32>) -> tensor<4x6xbf16> {
  // CHECK: %[[A:.*]] = cs336.cast %{{.*}} : tensor<4x3x1xf32> -> tensor<4x3x1xbf16>
  // CHECK-NEXT: %[[B:.*]] = cs336.cast %{{.*}} : tensor<4x3x1xf32> -> tensor<4x3x1xbf16>
  // CHECK-NEXT: %[[P:.*]] = cs336.concat axis = 2 %[[A]], %[[B]] {{.*}} -> tensor<4x3x2xbf16>
  // CHECK-NEXT: %[[Y:.*]] = cs336.reshape %[[P]] : tensor<4x3x2xbf16> -> tensor<4x6xbf16>
  // CHECK-NEXT: return %[[Y]]
  %first = cs336.exp %a : tensor<4x3x1xf32>
  %second = cs336.sin %b : tensor<4x3x1xf32>
  %pairs = cs336.concat axis = 2 %first, %second : tensor<4x3x1xf32>, tensor<4x3x1xf32> -> tensor<4x3x2xf32>
  %row = cs336.reshape %pairs : tensor<4x3x2xf32> -> tensor<4x6xf32>
  %y = cs336.cast %row : tensor<4x6xf32> -> tensor<4x6xbf16>
  return %y : tensor<4x6xbf16>
}

// -----

// A concatenation of reshaped concatenations: the inner ones make pairs, the outer one stacks them, and one reshape of
// the whole is left. A part that is no concatenation is reshaped to pairs.
// CHECK-LABEL: func.func @pairs(
// CHECK-SAME: %[[A:.*]]: tensor<2x3x1xf32>, %[[B:.*]]: tensor<2x3x1xf32>, %[[V:.*]]: tensor<2x6xf32>)
func.func @pairs(%a: tensor<2x3x1xf32>, %b: tensor<2x3x1xf32>, %v: tensor<2x6xf32>) -> tensor<2x12xf32> {
  // CHECK: %[[P:.*]] = cs336.concat axis = 2 %[[A]], %[[B]] {{.*}} -> tensor<2x3x2xf32>
  // CHECK-NEXT: %[[R:.*]] = cs336.reshape %[[V]] : tensor<2x6xf32> -> tensor<2x3x2xf32>
  // CHECK-NEXT: %[[W:.*]] = cs336.concat axis = 1 %[[P]], %[[R]] {{.*}} -> tensor<2x6x2xf32>
  // CHECK-NEXT: %[[Y:.*]] = cs336.reshape %[[W]] : tensor<2x6x2xf32> -> tensor<2x12xf32>
  // CHECK-NEXT: return %[[Y]]
  %p = cs336.concat axis = 2 %a, %b : tensor<2x3x1xf32>, tensor<2x3x1xf32> -> tensor<2x3x2xf32>
  %r = cs336.reshape %p : tensor<2x3x2xf32> -> tensor<2x6xf32>
  %y = cs336.concat axis = 1 %r, %v : tensor<2x6xf32>, tensor<2x6xf32> -> tensor<2x12xf32>
  return %y : tensor<2x12xf32>
}

// -----

// A transpose moves before the slices of pairs, so that both read one tensor.
// CHECK-LABEL: func.func @slices_of_pairs(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4x2xf32>)
func.func @slices_of_pairs(%x: tensor<2x3x4x2xf32>) -> (tensor<3x2x4x1xf32>, tensor<3x2x4x1xf32>) {
  // CHECK-NEXT: %[[T:.*]] = cs336.transpose %[[X]] perm = [1, 0, 2, 3] : tensor<2x3x4x2xf32> -> tensor<3x2x4x2xf32>
  // CHECK-NEXT: %[[EVEN:.*]] = cs336.slice %[[T]] offsets = [0, 0, 0, 0] : tensor<3x2x4x2xf32> -> tensor<3x2x4x1xf32>
  // CHECK-NEXT: %[[ODD:.*]] = cs336.slice %[[T]] offsets = [0, 0, 0, 1]
  // CHECK-NEXT: return %[[EVEN]], %[[ODD]]
  %even = cs336.slice %x offsets = [0, 0, 0, 0] : tensor<2x3x4x2xf32> -> tensor<2x3x4x1xf32>
  %odd = cs336.slice %x offsets = [0, 0, 0, 1] : tensor<2x3x4x2xf32> -> tensor<2x3x4x1xf32>
  %y = cs336.transpose %even perm = [1, 0, 2, 3] : tensor<2x3x4x1xf32> -> tensor<3x2x4x1xf32>
  %z = cs336.transpose %odd perm = [1, 0, 2, 3] : tensor<2x3x4x1xf32> -> tensor<3x2x4x1xf32>
  return %y, %z : tensor<3x2x4x1xf32>, tensor<3x2x4x1xf32>
}

// -----

// A group that exists reads the narrower tensor, and converts it.
// COUNTS: cs336-move-layouts  num-absorbed {{ *}}1  Number
// CHECK-LABEL: func.func @group(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>)
func.func @group(%x: tensor<4x8xbf16>) -> tensor<4x8xf32> {
  // CHECK-NOT: cs336.cast
  // CHECK: cs336.fused(%[[X]]) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x8xbf16>):
  // CHECK-NEXT: %[[C:.*]] = cs336.cast %[[A]]
  // CHECK-NEXT: cs336.exp %[[C]]
  %c = cs336.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %y = cs336.fused(%c) {
  ^bb0(%a: tensor<4x8xf32>):
    %e = cs336.exp %a : tensor<4x8xf32>
    cs336.yield %e : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A multiplication by one number follows, unless something else reads the product. So does the conversion before it.
// COUNTS: cs336-move-layouts  num-absorbed {{ *}}2  Number
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>, %[[Z:.*]]: tensor<4x8xf32>)
func.func @scaled(%x: tensor<4x8xbf16>, %z: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[READ:.*]] = cs336.mul %[[Z]]
  // CHECK: cs336.fused(%[[X]]) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x8xbf16>):
  // CHECK-NEXT: %[[C:.*]] = cs336.cast %[[A]]
  // CHECK-NEXT: %[[HALF:.*]] = cs336.constant dense<5.000000e-01> : tensor<4x8xf32>
  // CHECK-NEXT: %[[M:.*]] = cs336.mul %[[C]], %[[HALF]]
  // CHECK-NEXT: cs336.exp %[[M]]
  // CHECK: cs336.fused(%[[READ]]) {
  %half = cs336.constant dense<5.000000e-01> : tensor<4x8xf32>
  %c = cs336.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %m = cs336.mul %c, %half : tensor<4x8xf32>
  %read = cs336.mul %z, %half : tensor<4x8xf32>
  %y = cs336.fused(%m) {
  ^bb0(%a: tensor<4x8xf32>):
    %e = cs336.exp %a : tensor<4x8xf32>
    cs336.yield %e : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %v = cs336.fused(%read) {
  ^bb0(%a: tensor<4x8xf32>):
    %e = cs336.exp %a : tensor<4x8xf32>
    cs336.yield %e : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y, %v, %read : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A function without a body is left as it is.
// CHECK: func.func private @external(tensor<4xf32>) -> tensor<4xf32>
func.func private @external(%x: tensor<4xf32>) -> tensor<4xf32>
