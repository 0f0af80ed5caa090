// Matmuls become GEMMs on strided views: a transposition changes only the strides.
// RUN: cs336-opt %s --split-input-file --convert-cs336-to-exec --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --convert-cs336-to-exec --remarks-filter=convert-cs336-to-exec --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// All batches share the right operand: batches and rows of the left one become the rows of one GEMM.
// CHECK-LABEL: exec.entry @shared
// CHECK-DAG: %[[X:.*]] = exec.view %x : memref<2x3x4xf32> to memref<6x4xf32>
// CHECK-DAG: %[[WT:.*]] = exec.view %w : memref<5x4xf32> to memref<4x5xf32, strided<[1, 4]>>
// CHECK-DAG: %[[Y:.*]] = exec.view %y : memref<2x3x5xf32> to memref<6x5xf32>
// CHECK: exec.gemm ins(%[[X]], %[[WT]] : memref<6x4xf32>, memref<4x5xf32, strided<[1, 4]>>) outs(%[[Y]] : memref<6x5xf32>) precision = tf32
func.func @shared(%x: tensor<2x3x4xf32> {cs336.kind = "input", cs336.name = "x"},
                  %w: tensor<5x4xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<2x3x5xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %y = cs336.matmul %x, %w {transpose_b, precision = #cs336.precision<tf32>} : tensor<2x3x4xf32>, tensor<5x4xf32> -> tensor<2x3x5xf32>
  return %y : tensor<2x3x5xf32>
}

// -----

// If the left operand's batches are not contiguous, the right operand is repeated, with stride 0.
// CHECK-LABEL: exec.entry @repeated
// CHECK-DAG: %[[XT:.*]] = exec.view %x : memref<2x4x3xf32> to memref<2x3x4xf32, strided<[12, 1, 3]>>
// CHECK-DAG: %[[W:.*]] = exec.view %w : memref<4x5xf32> to memref<2x4x5xf32, strided<[0, 5, 1]>>
// CHECK: exec.gemm ins(%[[XT]], %[[W]] : memref<2x3x4xf32, strided<[12, 1, 3]>>, memref<2x4x5xf32, strided<[0, 5, 1]>>) outs(%y : memref<2x3x5xf32>)
func.func @repeated(%x: tensor<2x4x3xf32> {cs336.kind = "input", cs336.name = "x"},
                    %w: tensor<4x5xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<2x3x5xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %y = cs336.matmul %x, %w {transpose_a} : tensor<2x4x3xf32>, tensor<4x5xf32> -> tensor<2x3x5xf32>
  return %y : tensor<2x3x5xf32>
}

// -----

// Heads are read from the projections' buffers.
// CHECK-LABEL: exec.entry @heads
// CHECK-DAG: %[[Q:.*]] = exec.view %q : memref<2x3x8xf32> to memref<2x2x3x4xf32, strided<[24, 4, 8, 1]>>
// CHECK-DAG: %[[K:.*]] = exec.view %q : memref<2x3x8xf32> to memref<2x2x4x3xf32, strided<[24, 4, 1, 8]>>
// CHECK: exec.gemm ins(%[[Q]], %[[K]] : {{.*}}) outs(%s : memref<2x2x3x3xf32>)
func.func @heads(%q: tensor<2x3x8xf32> {cs336.kind = "input", cs336.name = "q"})
    -> (tensor<2x2x3x3xf32> {cs336.kind = "output", cs336.name = "s"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %split = cs336.reshape %q : tensor<2x3x8xf32> -> tensor<2x3x2x4xf32>
  %h = cs336.transpose %split perm = [0, 2, 1, 3] : tensor<2x3x2x4xf32> -> tensor<2x2x3x4xf32>
  %s = cs336.matmul %h, %h {transpose_b} : tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32> -> tensor<2x2x3x3xf32>
  return %s : tensor<2x2x3x3xf32>
}

// -----

// No stride of the last two axes is 1 (every other column), or a row is repeated: no GEMM takes that.
// CHECK-LABEL: exec.entry @copied
// CHECK: exec.copy ins(%{{.*}} : memref<3x4xf32, strided<[8, 2]>>) outs(%[[A:.*]] : memref<3x4xf32>)
// CHECK: exec.copy ins(%{{.*}} : memref<4x3xf32, strided<[0, 1]>>) outs(%[[B:.*]] : memref<4x3xf32>)
// CHECK: exec.gemm ins(%[[A]], %[[B]] : memref<3x4xf32>, memref<4x3xf32>)
// REMARK-COUNT-2: [Missed] OperandCopied {{.*}}the matmul's operand is copied: GEMM does not accept its strides
func.func @copied(%x: tensor<3x8xf32> {cs336.kind = "input", cs336.name = "x"},
                  %z: tensor<3xf32> {cs336.kind = "input", cs336.name = "z"})
    -> (tensor<3x3xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %pairs = cs336.reshape %x : tensor<3x8xf32> -> tensor<3x4x2xf32>
  %even = cs336.slice %pairs offsets = [0, 0, 0] : tensor<3x4x2xf32> -> tensor<3x4x1xf32>
  %a = cs336.reshape %even : tensor<3x4x1xf32> -> tensor<3x4xf32>
  %b = cs336.broadcast %z dims = [1] : tensor<3xf32> -> tensor<4x3xf32>
  %y = cs336.matmul %a, %b : tensor<3x4xf32>, tensor<4x3xf32> -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}

// -----

// One row, one column, one batch: sizes of 1 leave strides free, and nothing is copied.
// CHECK-LABEL: exec.entry @degenerate
// CHECK-NOT: exec.copy
// CHECK: exec.gemm ins({{.*}} : memref<1x4xf32{{.*}}>, memref<4x1xf32{{.*}}>) outs({{.*}} : memref<1x1xf32>)
// CHECK: exec.gemm ins({{.*}} : memref<4x1xf32{{.*}}>, memref<1x4xf32{{.*}}>) outs({{.*}} : memref<4x4xf32>)
func.func @degenerate(%x: tensor<1x1x4xf32> {cs336.kind = "input", cs336.name = "x"},
                      %w: tensor<1x4xf32> {cs336.kind = "input", cs336.name = "w"})
    -> (tensor<1x1x1xf32> {cs336.kind = "output", cs336.name = "y"}, tensor<4x4xf32> {cs336.kind = "output", cs336.name = "z"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %y = cs336.matmul %x, %w {transpose_b} : tensor<1x1x4xf32>, tensor<1x4xf32> -> tensor<1x1x1xf32>
  %z = cs336.matmul %w, %w {transpose_a} : tensor<1x4xf32>, tensor<1x4xf32> -> tensor<4x4xf32>
  return %y, %z : tensor<1x1x1xf32>, tensor<4x4xf32>
}

// -----

// An addend has the output's layout, and the output its own storage; an addend in another layout is copied.
// CHECK-LABEL: exec.entry @added
// CHECK: %[[S:.*]] = exec.alloc : memref<2x3x5xf32>
// CHECK: %[[SV:.*]] = exec.view %[[S]] : memref<2x3x5xf32> to memref<6x5xf32>
// CHECK: %[[R:.*]] = exec.view %r : memref<2x3x5xf32> to memref<6x5xf32>
// CHECK: exec.gemm ins({{.*}}) add(%[[R]] : memref<6x5xf32>) outs(%[[SV]] : memref<6x5xf32>)
// CHECK: %[[T:.*]] = exec.view %[[S]] : memref<2x3x5xf32> to memref<3x2x5xf32, strided<[5, 15, 1]>>
// CHECK: exec.copy ins(%[[T]] : {{.*}}) outs(%[[COPY:.*]] : memref<3x2x5xf32>)
// CHECK: %[[CV:.*]] = exec.view %[[COPY]] : memref<3x2x5xf32> to memref<6x5xf32>
// CHECK: exec.gemm ins({{.*}}) add(%[[CV]] : memref<6x5xf32>) outs(%{{.*}} : memref<6x5xf32>)
func.func @added(%x: tensor<2x3x4xf32> {cs336.kind = "input", cs336.name = "x"},
                 %w: tensor<5x4xf32> {cs336.kind = "parameter", cs336.name = "w"},
                 %r: tensor<2x3x5xf32> {cs336.kind = "input", cs336.name = "r"})
    -> (tensor<3x2x5xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %s = cs336.matmul %x, %w add %r {transpose_b} : tensor<2x3x4xf32>, tensor<5x4xf32> -> tensor<2x3x5xf32>
  %t = cs336.transpose %s perm = [1, 0, 2] : tensor<2x3x5xf32> -> tensor<3x2x5xf32>
  %z = cs336.reshape %x : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %y = cs336.matmul %z, %w add %t {transpose_b} : tensor<3x2x4xf32>, tensor<5x4xf32> -> tensor<3x2x5xf32>
  return %y : tensor<3x2x5xf32>
}

// -----

// A bias is read directly, or from a dense copy.
// CHECK-LABEL: exec.entry @biased
// CHECK: exec.gemm ins({{.*}}) bias(%c : memref<5xf32>) outs(%{{.*}} : memref<6x5xf32>) {relu}
// CHECK: exec.copy ins({{.*}}) outs(%[[COPY:.*]] : memref<5xf32>)
// CHECK: exec.gemm ins({{.*}}) bias(%[[COPY]] : memref<5xf32>) outs(%{{.*}} : memref<6x5xf32>){{$}}
func.func @biased(%x: tensor<2x3x4xf32> {cs336.kind = "input", cs336.name = "x"},
                  %w: tensor<5x4xf32> {cs336.kind = "parameter", cs336.name = "w"},
                  %c: tensor<5xf32> {cs336.kind = "parameter", cs336.name = "c"},
                  %m: tensor<5x2xf32> {cs336.kind = "parameter", cs336.name = "m"})
    -> (tensor<2x3x5xf32> {cs336.kind = "output", cs336.name = "y"}, tensor<2x3x5xf32> {cs336.kind = "output", cs336.name = "z"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %y = cs336.matmul %x, %w bias %c {relu, transpose_b} : tensor<2x3x4xf32>, tensor<5x4xf32> -> tensor<2x3x5xf32>
  %column = cs336.slice %m offsets = [0, 1] : tensor<5x2xf32> -> tensor<5x1xf32>
  %vector = cs336.reshape %column : tensor<5x1xf32> -> tensor<5xf32>
  %z = cs336.matmul %x, %w bias %vector {transpose_b} : tensor<2x3x4xf32>, tensor<5x4xf32> -> tensor<2x3x5xf32>
  return %y, %z : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}
