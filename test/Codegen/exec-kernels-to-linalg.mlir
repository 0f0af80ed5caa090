// RUN: cs336-opt %s --exec-kernels-to-linalg --split-input-file --mlir-print-debuginfo=false | FileCheck %s

// Constants become scalars, broadcasts become maps: one operation is left.

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @scale_rows(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[OUT:.*]]: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK:         %[[HALF:.*]] = arith.constant 5.0
// CHECK:         %[[R:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]], #[[ID]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME:      ins(%[[X]], %[[W]] : {{.*}}) outs(%[[OUT]] : tensor<4x8xf32>)
// CHECK:           arith.mulf %{{.*}}, %[[HALF]]
// CHECK:           arith.mulf
// CHECK:         return %[[R]]
exec.kernel @scale_rows(%x: tensor<4x8xf32>, %w: tensor<8xf32>) : (memref<4x8xf32>, memref<8xf32>) -> memref<4x8xf32> {
  %b = cs336.broadcast %w dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %half = cs336.constant dense<5.0e-01> : tensor<4x8xf32>
  %h = cs336.mul %x, %half : tensor<4x8xf32>
  %y = cs336.mul %h, %b : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}

// -----

// A broadcast that two operations read is computed by both.

// CHECK-LABEL: func.func @two_uses(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:     linalg.generic
exec.kernel @two_uses(%x: tensor<4x8xf32>, %w: tensor<8xf32>)
    : (memref<4x8xf32>, memref<8xf32>) -> (memref<4x8xf32>, memref<4x8xf32>) {
  %b = cs336.broadcast %w dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %y = cs336.mul %x, %b : tensor<4x8xf32>
  %z = cs336.add %x, %b : tensor<4x8xf32>
  exec.yield %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The causal mask is two indices and a comparison.

// CHECK-LABEL: func.func @mask(
// CHECK:         linalg.generic
// CHECK:           linalg.index 0
// CHECK:           linalg.index 1
// CHECK:           arith.cmpi sge
// CHECK:           arith.select
// CHECK-NOT:     linalg.generic
exec.kernel @mask(%s: tensor<3x3xf32>) : (memref<3x3xf32>) -> memref<3x3xf32> {
  %q = cs336.iota axis = 0 : tensor<3x3xi32>
  %k = cs336.iota axis = 1 : tensor<3x3xi32>
  %visible = cs336.compare ge %q, %k : tensor<3x3xi32>
  %hidden = cs336.constant dense<0xFF800000> : tensor<3x3xf32>
  %y = cs336.select %visible, %s, %hidden : tensor<3x3xf32>
  exec.yield %y : tensor<3x3xf32>
}

// -----

// Sums of bf16 are kept in float32 and rounded once.

// CHECK-LABEL: func.func @sum_bf16(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xbf16>, %[[OUT:.*]]: tensor<4xbf16>)
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:         linalg.generic {{.*}} outs(%[[EMPTY]] : tensor<4xf32>)
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[X]] : tensor<4x8xbf16>)
// CHECK:           arith.extf
// CHECK:           arith.addf {{.*}} fastmath<reassoc>
// CHECK:         linalg.generic {{.*}} outs(%[[OUT]] : tensor<4xbf16>)
// CHECK:           arith.truncf
exec.kernel @sum_bf16(%x: tensor<4x8xbf16>) : (memref<4x8xbf16>) -> memref<4xbf16> {
  %s = cs336.reduce sum %x axes = [1] : tensor<4x8xbf16> -> tensor<4xbf16>
  exec.yield %s : tensor<4xbf16>
}

// -----

// A box at the origin of a longer axis: linalg would take a plain dim for the whole axis.

// CHECK-DAG:   #[[BOX:.*]] = affine_map<(d0, d1) -> (d0, d1 mod 8)>
// CHECK-LABEL: func.func @pad_at_origin(
// CHECK:         linalg.generic {indexing_maps = [#{{.*}}, #[[BOX]]], {{.*}} outs(%{{.*}} : tensor<4x8xf32>)
exec.kernel @pad_at_origin(%x: tensor<4x2xf32>) : (memref<4x2xf32>) -> memref<4x8xf32> {
  %y = cs336.pad %x offsets = [0, 0] : tensor<4x2xf32> -> tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}

// -----

// Padding writes zeros, then the box; nothing is copied twice.

// CHECK-DAG:   #[[SHIFT:.*]] = affine_map<(d0, d1) -> (d0, d1 + 3)>
// CHECK-LABEL: func.func @pad(
// CHECK-SAME:    %[[X:.*]]: tensor<4x2xf32>, %[[OUT:.*]]: tensor<4x8xf32>)
// CHECK:         %[[ZEROS:.*]] = linalg.generic {{.*}} outs(%[[OUT]] : tensor<4x8xf32>)
// CHECK:         linalg.generic {indexing_maps = [#{{.*}}, #[[SHIFT]]], {{.*}} ins(%[[X]] : tensor<4x2xf32>) outs(%[[ZEROS]] : tensor<4x8xf32>)
exec.kernel @pad(%x: tensor<4x2xf32>) : (memref<4x2xf32>) -> memref<4x8xf32> {
  %y = cs336.pad %x offsets = [0, 3] : tensor<4x2xf32> -> tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}

// -----

// A value that is yielded twice is computed once and copied.

// CHECK-LABEL: func.func @yield_twice(
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>, %[[OUT0:.*]]: tensor<8xf32>, %[[OUT1:.*]]: tensor<8xf32>)
// CHECK:         %[[Y:.*]] = linalg.generic {{.*}} outs(%[[OUT0]]
// CHECK:           math.exp
// CHECK:         %[[Z:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<8xf32>) outs(%[[OUT1]]
// CHECK-NOT:       math.exp
// CHECK:         return %[[Y]], %[[Z]]
exec.kernel @yield_twice(%x: tensor<8xf32>) : (memref<8xf32>) -> (memref<8xf32>, memref<8xf32>) {
  %y = cs336.exp %x : tensor<8xf32>
  exec.yield %y, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

// A scatter carries its table through loops in the order of positions.

// CHECK-LABEL: func.func @scatter(
// CHECK:         scf.for
// CHECK:           tensor.extract
// CHECK:           scf.for
// CHECK:             tensor.insert
exec.kernel @scatter(%ids: tensor<3xi64>, %g: tensor<3x4xf32>) : (memref<3xi64>, memref<3x4xf32>) -> memref<7x4xf32> {
  %t = cs336.embedding_grad %ids, %g : tensor<3xi64>, tensor<3x4xf32> -> tensor<7x4xf32>
  exec.yield %t : tensor<7x4xf32>
}

// -----

// Integer arithmetic is exact where the sizes of loops show it.

// CHECK-LABEL: func.func @exact_integers(
// CHECK:         %[[D:.*]] = arith.subi %{{.*}}, %{{.*}} overflow<nsw> : i32
// CHECK:         %[[S:.*]] = arith.muli %[[D]], %[[D]] overflow<nsw> : i32
// CHECK:         arith.muli %[[S]], %[[S]] : i32
// CHECK:         arith.addi %{{.*}}, %{{.*}} : i32
exec.kernel @exact_integers(%x: tensor<9x40000xi32>)
    : (memref<9x40000xi32>) -> (memref<9x40000xi32>, memref<9x40000xi32>) {
  %i = cs336.iota axis = 0 : tensor<9x40000xi32>
  %j = cs336.iota axis = 1 : tensor<9x40000xi32>
  %distance = cs336.sub %i, %j : tensor<9x40000xi32>
  %square = cs336.mul %distance, %distance : tensor<9x40000xi32>
  %fourth = cs336.mul %square, %square : tensor<9x40000xi32>
  %sum = cs336.add %x, %i : tensor<9x40000xi32>
  exec.yield %fourth, %sum : tensor<9x40000xi32>, tensor<9x40000xi32>
}
