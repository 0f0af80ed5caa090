// RUN: cs336-opt %s --cs336-hoist-invariants --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-hoist-invariants=min-flops=100 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=DEAR
// RUN: cs336-opt %s --cs336-hoist-invariants --remarks-filter=cs336-hoist-invariants --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt %s --cs336-hoist-invariants -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --cs336-hoist-invariants -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir

// DEAR-NOT: invariant

// REMARK: "rope"{{.*}}saves 128 FLOPs per call of @forward

// The table is stored, not the broadcast of it. What is cheap (the mask) stays.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x8xf32> {{{.*}}"x"}, %[[TABLE:[a-z0-9]+]]: tensor<4x8xf32> {cs336.kind = "derived", cs336.name = "[[NAME:invariant\.[0-9a-f]+]]"})
func.func @forward(%x: tensor<2x4x8xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<2x4x8xf32> {cs336.kind = "output", cs336.name = "y"}, tensor<2x4x8xi1> {cs336.kind = "output", cs336.name = "mask"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK-NEXT: %[[T:.*]] = cs336.iota axis = 0 : tensor<4x8xi32>
  // CHECK-NEXT: %[[J:.*]] = cs336.iota axis = 1 : tensor<4x8xi32>
  // CHECK-NEXT: %[[MASK:.*]] = cs336.compare ge %[[T]], %[[J]]
  // CHECK-NEXT: %[[MASKB:.*]] = cs336.broadcast %[[MASK]]
  // CHECK-NEXT: %[[B:.*]] = cs336.broadcast %[[TABLE]] dims = [1, 2]
  // CHECK-NEXT: %[[Y:.*]] = cs336.mul %[[X]], %[[B]]
  // CHECK-NEXT: return %[[Y]], %[[MASKB]]
  %base = cs336.constant dense<1.0e+04> : tensor<4x8xf64>
  %i = cs336.iota axis = 0 : tensor<4x8xf64>
  %j = cs336.iota axis = 1 : tensor<4x8xf64>
  %f = cs336.pow %base, %j : tensor<4x8xf64>
  %angle = cs336.mul %i, %f : tensor<4x8xf64>
  %sin = cs336.sin %angle : tensor<4x8xf64>
  %sum = cs336.add %sin, %sin : tensor<4x8xf64>
  %table = cs336.cast %sum : tensor<4x8xf64> -> tensor<4x8xf32> loc("rope")
  %ti = cs336.iota axis = 0 : tensor<4x8xi32>
  %tj = cs336.iota axis = 1 : tensor<4x8xi32>
  %mask = cs336.compare ge %ti, %tj : tensor<4x8xi32>
  %maskb = cs336.broadcast %mask dims = [1, 2] : tensor<4x8xi1> -> tensor<2x4x8xi1>
  %b = cs336.broadcast %table dims = [1, 2] : tensor<4x8xf32> -> tensor<2x4x8xf32>
  %y = cs336.mul %x, %b : tensor<2x4x8xf32>
  return %y, %maskb : tensor<2x4x8xf32>, tensor<2x4x8xi1>
}

// An equal table of another function is the same variable, whatever the order of its operations.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %{{.*}}: tensor<4x8xf32> {cs336.kind = "derived", cs336.name = "[[NAME]]"})
func.func @loss(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"}) -> (tensor<4x8xf32> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<loss>} {
  %j = cs336.iota axis = 1 : tensor<4x8xf64>
  %base = cs336.constant dense<1.0e+04> : tensor<4x8xf64>
  %f = cs336.pow %base, %j : tensor<4x8xf64>
  %i = cs336.iota axis = 0 : tensor<4x8xf64>
  %angle = cs336.mul %i, %f : tensor<4x8xf64>
  %sin = cs336.sin %angle : tensor<4x8xf64>
  %sum = cs336.add %sin, %sin : tensor<4x8xf64>
  %table = cs336.cast %sum : tensor<4x8xf64> -> tensor<4x8xf32>
  %y = cs336.mul %x, %table : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The signature of a function without a mode does not change.
// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<4x8xf64>) -> tensor<4x8xf64>
func.func @plain(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
  // CHECK: cs336.sin
  %base = cs336.constant dense<1.0e+04> : tensor<4x8xf64>
  %i = cs336.iota axis = 0 : tensor<4x8xf64>
  %f = cs336.pow %base, %i : tensor<4x8xf64>
  %g = cs336.exp %f : tensor<4x8xf64>
  %h = cs336.mul %g, %f : tensor<4x8xf64>
  %sin = cs336.sin %h : tensor<4x8xf64>
  %y = cs336.mul %x, %sin : tensor<4x8xf64>
  return %y : tensor<4x8xf64>
}

// Integers with a known range are not hoisted: a variable can hold any integer, also one that is out of bounds.
// CHECK-LABEL: func.func @indices(
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<97x8xf32>) -> tensor<4x8xf32>
func.func @indices(%table: tensor<97x8xf32>) -> tensor<4x8xf32> attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: cs336.add
  // CHECK: %[[IDS:.*]] = cs336.add
  // CHECK: cs336.embedding %{{.*}}, %[[IDS]]
  %i = cs336.iota axis = 0 : tensor<4xi64>
  %square = cs336.mul %i, %i : tensor<4xi64>
  %cube = cs336.mul %square, %i : tensor<4xi64>
  %sum = cs336.add %cube, %square : tensor<4xi64>
  %ids = cs336.add %sum, %i : tensor<4xi64>
  %y = cs336.embedding %table, %ids : tensor<97x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Existing results of prepare stay first.
// CHECK: func.func @fill() -> (tensor<4xf32> {cs336.kind = "derived", cs336.name = "other"}, tensor<4x8xf32> {cs336.kind = "derived", cs336.name = "[[NAME]]"})
func.func @fill() -> (tensor<4xf32> {cs336.kind = "derived", cs336.name = "other"}) attributes {cs336.mode = #cs336.mode<prepare>} {
  // CHECK: %[[OTHER:.*]] = cs336.constant
  // CHECK: cs336.pow
  // CHECK-NOT: cs336.pow
  // CHECK: %[[TABLE:.*]] = cs336.cast
  // CHECK: return %[[OTHER]], %[[TABLE]]
  %0 = cs336.constant dense<1.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
