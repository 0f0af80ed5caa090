// Groups become kernels, layouts become views, functions share variables by name.
// RUN: cs336-opt %s --split-input-file --convert-cs336-to-exec --mlir-print-debuginfo=false | FileCheck %s

// One variable per name; an attribute that one function gives it holds in all functions.
// CHECK-DAG: exec.variable @w parameter : memref<4x8xf32> {init = #cs336.init<ones>, views = [#cs336.view<"w0", 4>]}
// CHECK-DAG: exec.variable @table derived : memref<4xf32>
// CHECK-DAG: exec.variable @count state : memref<i64>
// CHECK-LABEL: exec.entry @forward mode<forward>
// CHECK-NEXT: %w = exec.get @w : memref<4x8xf32>
// CHECK-NEXT: %tokens = exec.input "tokens" bound = 97 : memref<4x8xi64>
// CHECK-NEXT: %y = exec.output "y" output {views = [#cs336.view<"y0", 1>, #cs336.view<"y1", 3>]} : memref<4x8xf32>
func.func @forward(%w: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.init = #cs336.init<ones>},
                   %t: tensor<4x8xi64> {cs336.kind = "input", cs336.name = "tokens", cs336.bound = 97 : i64})
    -> (tensor<4x8xf32> {cs336.kind = "output", cs336.name = "y", cs336.views = [#cs336.view<"y0", 1>, #cs336.view<"y1", 3>]})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %f = cs336.cast %t : tensor<4x8xi64> -> tensor<4x8xf32>
  %y = cs336.add %w, %f : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
// CHECK-LABEL: exec.entry @train mode<train>
// CHECK-DAG: %w = exec.get @w : memref<4x8xf32>
// CHECK-DAG: %count = exec.get @count : memref<i64>
// CHECK-DAG: %w_0 = exec.output "w" gradient : memref<4x8xf32>
func.func @train(%w: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.views = [#cs336.view<"w0", 4>]},
                 %c: tensor<i64> {cs336.kind = "state", cs336.name = "count"})
    -> (tensor<4x8xf32> {cs336.kind = "gradient", cs336.name = "w"}, tensor<i64> {cs336.kind = "state", cs336.name = "count"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %y = cs336.neg %w : tensor<4x8xf32>
  %n = cs336.neg %c : tensor<i64>
  return %y, %n : tensor<4x8xf32>, tensor<i64>
}
// A result may be the only use of a variable.
// CHECK-LABEL: exec.entry @prepare mode<prepare>
// CHECK-NEXT: %table = exec.get @table : memref<4xf32>
// CHECK-NEXT: exec.launch @iota_{{[0-9a-f]+}} outs(%table : memref<4xf32>)
func.func @prepare() -> (tensor<4xf32> {cs336.kind = "derived", cs336.name = "table"})
    attributes {cs336.mode = #cs336.mode<prepare>} {
  %i = cs336.iota axis = 0 : tensor<4xf32>
  return %i : tensor<4xf32>
}

// -----

// Equal groups of two layers share a kernel; another type, attribute, operand order or layout is another kernel.
// CHECK-DAG: exec.kernel @[[SUB:sub_[0-9a-f]+]](%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>) : (memref<4xf32>, memref<4xf32>) -> memref<4xf32>
// CHECK-DAG: exec.kernel @[[SAME:sub_[0-9a-f]+]](%{{.*}}: tensor<4xf32>) : (memref<4xf32>) -> memref<4xf32>
// CHECK-DAG: exec.kernel @[[STRIDED:sub_[0-9a-f]+]](%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>) : (memref<4xf32, strided<[2]>>, memref<4xf32>) -> memref<4xf32>
// CHECK-DAG: exec.kernel @[[LT:compare_[0-9a-f]+]](
// CHECK-DAG: exec.kernel @[[GT:compare_[0-9a-f]+]](
// CHECK-NOT: exec.kernel
// CHECK-LABEL: exec.entry @kernels
func.func @kernels(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"},
                   %y: tensor<4xf32> {cs336.kind = "input", cs336.name = "y"},
                   %z: tensor<8x2xf32> {cs336.kind = "input", cs336.name = "z"})
    -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<4xf32> {cs336.kind = "output", cs336.name = "b"},
        tensor<4xf32> {cs336.kind = "output", cs336.name = "c"}, tensor<4xf32> {cs336.kind = "output", cs336.name = "d"},
        tensor<4xf32> {cs336.kind = "output", cs336.name = "e"}, tensor<4xi1> {cs336.kind = "output", cs336.name = "f"},
        tensor<4xi1> {cs336.kind = "output", cs336.name = "g"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: exec.launch @[[SUB]] ins(%x, %y :
  %a = cs336.sub %x, %y : tensor<4xf32> loc("layers.0.sub")
  // CHECK: exec.launch @[[SUB]] ins(%y, %x :
  %b = cs336.sub %y, %x : tensor<4xf32> loc("layers.1.sub")
  // CHECK: exec.launch @[[SAME]] ins(%x :
  %c = cs336.sub %x, %x : tensor<4xf32>
  // The launch determines offsets, the kernel strides.
  // CHECK: exec.launch @[[STRIDED]] ins(%{{.*}}, %y : memref<4xf32, strided<[2], offset: 3>>, memref<4xf32>)
  %s0 = cs336.slice %z offsets = [1, 1] : tensor<8x2xf32> -> tensor<4x1xf32>
  %r0 = cs336.reshape %s0 : tensor<4x1xf32> -> tensor<4xf32>
  %d = cs336.sub %r0, %y : tensor<4xf32>
  // CHECK: exec.launch @[[STRIDED]] ins(%{{.*}}, %y : memref<4xf32, strided<[2]>>, memref<4xf32>)
  %s1 = cs336.slice %z offsets = [0, 0] : tensor<8x2xf32> -> tensor<4x1xf32>
  %r1 = cs336.reshape %s1 : tensor<4x1xf32> -> tensor<4xf32>
  %e = cs336.sub %r1, %y : tensor<4xf32>
  // CHECK: exec.launch @[[LT]] ins(%x, %y
  %f = cs336.compare lt %x, %y : tensor<4xf32>
  // CHECK: exec.launch @[[GT]] ins(%x, %y
  %g = cs336.compare gt %x, %y : tensor<4xf32>
  return %a, %b, %c, %d, %e, %f, %g : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xi1>
}

// -----

// Constants, iotas and broadcasts are computed again where they are read, one through the other.
// CHECK-LABEL: exec.kernel @add_
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>) : (memref<2x4xf32>) -> memref<2x4xf32> {
// CHECK-NEXT: %[[I:.*]] = cs336.iota axis = 0 : tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = cs336.broadcast %[[I]] dims = [1]
// CHECK-NEXT: %[[S:.*]] = cs336.add %[[X]], %[[B]]
// CHECK-NEXT: exec.yield %[[S]]
// CHECK-LABEL: exec.kernel @reduce_
// CHECK: cs336.constant
// CHECK-LABEL: exec.kernel @sigmoid_mul_
// CHECK-SAME: (%[[A:.*]]: tensor<2x4xf32>, %[[C:.*]]: tensor<f32>) : (memref<2x4xf32>, memref<f32>) -> memref<2x4xf32>
// CHECK-NEXT: cs336.broadcast %[[C]] dims = []
// CHECK-NEXT: cs336.sigmoid
// CHECK-NEXT: cs336.mul
// CHECK-LABEL: exec.entry @rematerialized
func.func @rematerialized(%x: tensor<2x4xf32> {cs336.kind = "input", cs336.name = "x"},
                          %scale: tensor<f32> {cs336.kind = "input", cs336.name = "scale"})
    -> (tensor<2x4xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<f32> {cs336.kind = "output", cs336.name = "b"},
        tensor<2x4xf32> {cs336.kind = "output", cs336.name = "c"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: exec.output "c"
  // CHECK-NEXT: exec.launch @add_{{.*}} ins(%x : memref<2x4xf32>) outs(%a : memref<2x4xf32>)
  %iota = cs336.iota axis = 0 : tensor<4xf32>
  %rows = cs336.broadcast %iota dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
  %a = cs336.add %x, %rows : tensor<2x4xf32>
  // CHECK-NEXT: exec.launch @reduce_{{.*}} outs(%b : memref<f32>)
  %ones = cs336.constant dense<1.0> : tensor<2x4xf32>
  %b = cs336.reduce sum %ones axes = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  // CHECK-NEXT: exec.launch @sigmoid_mul_{{.*}} ins(%x, %scale : memref<2x4xf32>, memref<f32>) outs(%c : memref<2x4xf32>)
  %factor = cs336.broadcast %scale dims = [] : tensor<f32> -> tensor<2x4xf32>
  %c = cs336.fused(%x, %factor) {
  ^bb0(%p: tensor<2x4xf32>, %q: tensor<2x4xf32>):
    %s = cs336.sigmoid %p : tensor<2x4xf32>
    %m = cs336.mul %s, %q : tensor<2x4xf32>
    cs336.yield %m : tensor<2x4xf32>
  } : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %a, %b, %c : tensor<2x4xf32>, tensor<f32>, tensor<2x4xf32>
}

// -----

// Other readers of them get storage once, or a view with stride 0.
// CHECK-LABEL: exec.entry @materialized
func.func @materialized(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<2x2xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<2x2xf32> {cs336.kind = "output", cs336.name = "b"},
        tensor<3x4xf32> {cs336.kind = "output", cs336.name = "c"}, tensor<4x4xf32> {cs336.kind = "output", cs336.name = "d"},
        tensor<4x3xf32> {cs336.kind = "output", cs336.name = "e"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: %[[EYE:.*]] = exec.alloc : memref<2x2xf32>
  // CHECK-NEXT: exec.launch @constant_{{[0-9a-f]+}} outs(%[[EYE]] : memref<2x2xf32>)
  // CHECK-NEXT: exec.gemm ins(%[[EYE]], %[[EYE]] : {{.*}}) outs(%a :
  %eye = cs336.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %a = cs336.matmul %eye, %eye : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  // CHECK-NEXT: exec.gemm ins(%[[EYE]], %a : {{.*}}) outs(%b :
  %b = cs336.matmul %eye, %a : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  // An opaque kernel reads a broadcast from memory.
  // CHECK-NEXT: %[[ROWS:.*]] = exec.view %x : memref<4xf32> to memref<3x4xf32, strided<[0, 1]>>
  // CHECK-NEXT: exec.launch @pad_{{.*}} ins(%[[ROWS]] : memref<3x4xf32, strided<[0, 1]>>) outs(%d :
  %rows = cs336.broadcast %x dims = [1] : tensor<4xf32> -> tensor<3x4xf32>
  %d = cs336.pad %rows offsets = [1, 0] : tensor<3x4xf32> -> tensor<4x4xf32>
  %columns = cs336.broadcast %x dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: exec.copy ins(%[[ROWS]] : memref<3x4xf32, strided<[0, 1]>>) outs(%c :
  // CHECK-NEXT: %[[COLUMNS:.*]] = exec.view %x : memref<4xf32> to memref<4x3xf32, strided<[1, 0]>>
  // CHECK-NEXT: exec.copy ins(%[[COLUMNS]] : memref<4x3xf32, strided<[1, 0]>>) outs(%e :
  return %a, %b, %rows, %d, %columns : tensor<2x2xf32>, tensor<2x2xf32>, tensor<3x4xf32>, tensor<4x4xf32>, tensor<4x3xf32>
}

// -----

// Strides say a transposition and the reshape that splits heads. They cannot say the one that merges heads: a copy
// comes first. Views always read storage, not other views.
// CHECK-LABEL: exec.entry @views
func.func @views(%x: tensor<3x8xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<2x3x4xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<24xf32> {cs336.kind = "output", cs336.name = "b"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %split = cs336.reshape %x : tensor<3x8xf32> -> tensor<3x2x4xf32> loc("split")
  %heads = cs336.transpose %split perm = [1, 0, 2] : tensor<3x2x4xf32> -> tensor<2x3x4xf32> loc("heads")
  // CHECK: %heads = exec.view %x : memref<3x8xf32> to memref<2x3x4xf32, strided<[4, 8, 1]>>
  // CHECK-NEXT: exec.launch @exp_{{.*}} ins(%heads : memref<2x3x4xf32, strided<[4, 8, 1]>>) outs(%a :
  %a = cs336.exp %heads : tensor<2x3x4xf32>
  // CHECK-NEXT: %merged = exec.alloc : memref<2x3x4xf32>
  // CHECK-NEXT: exec.copy ins(%heads : memref<2x3x4xf32, strided<[4, 8, 1]>>) outs(%merged : memref<2x3x4xf32>)
  // CHECK-NEXT: %merged_0 = exec.view %merged : memref<2x3x4xf32> to memref<24xf32>
  // CHECK-NEXT: exec.launch @neg_{{.*}} ins(%merged_0 : memref<24xf32>) outs(%b :
  %merged = cs336.reshape %heads : tensor<2x3x4xf32> -> tensor<24xf32> loc("merged")
  %b = cs336.neg %merged : tensor<24xf32>
  return %a, %b : tensor<2x3x4xf32>, tensor<24xf32>
}

// -----

// Collectives become commands on dense buffers; values without readers have no launches.
// CHECK-LABEL: exec.entry @collectives
func.func @collectives(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x8xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<16x8xf32> {cs336.kind = "output", cs336.name = "b"},
        tensor<1x8xf32> {cs336.kind = "output", cs336.name = "c"}, tensor<4x8xf32> {cs336.kind = "output", cs336.name = "d"},
        tensor<8x4xf32> {cs336.kind = "output", cs336.name = "e"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: exec.output "e"
  // CHECK-NEXT: exec.collective all_reduce sum ins(%x : memref<4x8xf32>) outs(%a : memref<4x8xf32>) group = 4
  %a = cs336.collective all_reduce sum(%x) group = 4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: exec.collective all_gather ins(%x : memref<4x8xf32>) outs(%b : memref<16x8xf32>) group = 4
  %b = cs336.collective all_gather(%x) group = 4 : (tensor<4x8xf32>) -> tensor<16x8xf32>
  // CHECK-NEXT: exec.collective reduce_scatter max ins(%x : memref<4x8xf32>) outs(%c : memref<1x8xf32>) group = 4
  %c = cs336.collective reduce_scatter max(%x) group = 4 : (tensor<4x8xf32>) -> tensor<1x8xf32>
  // CHECK-NEXT: exec.collective broadcast ins(%x : memref<4x8xf32>) outs(%d : memref<4x8xf32>) group = 4 root = 1
  %d = cs336.collective broadcast(%x) group = 4 root = 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NOT: exec.launch
  %unread = cs336.exp %d : tensor<4x8xf32>
  %t = cs336.transpose %x perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: exec.copy ins(%{{.*}} : memref<8x4xf32, strided<[1, 8]>>) outs(%[[DENSE:.*]] : memref<8x4xf32>)
  // CHECK-NEXT: exec.collective all_reduce sum ins(%[[DENSE]] : memref<8x4xf32>) outs(%e : memref<8x4xf32>)
  %e = cs336.collective all_reduce sum(%t) group = 4 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %a, %b, %c, %d, %e : tensor<4x8xf32>, tensor<16x8xf32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<8x4xf32>
}

// -----

// Several operands are one command.
// CHECK-LABEL: exec.entry @bucket
func.func @bucket(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"}, %z: tensor<2xbf16> {cs336.kind = "input", cs336.name = "z"})
    -> (tensor<4x8xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<2xbf16> {cs336.kind = "output", cs336.name = "b"},
        tensor<4x8xf32> {cs336.kind = "output", cs336.name = "c"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: exec.collective all_reduce mean ins(%x, %z : memref<4x8xf32>, memref<2xbf16>) outs(%a, %b : memref<4x8xf32>, memref<2xbf16>) group = 4
  %r:2 = cs336.collective all_reduce mean(%x, %z) group = 4 : (tensor<4x8xf32>, tensor<2xbf16>) -> (tensor<4x8xf32>, tensor<2xbf16>)
  // CHECK-NEXT: exec.collective all_to_all ins(%x : memref<4x8xf32>) outs(%c : memref<4x8xf32>) group = 4
  %c = cs336.collective all_to_all(%x) group = 4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r#0, %r#1, %c : tensor<4x8xf32>, tensor<2xbf16>, tensor<4x8xf32>
}

// -----

// The parts of an all_to_all may be columns of a matrix. Other strided operands become dense copies.
// CHECK-LABEL: exec.entry @columns
func.func @columns(%x: tensor<4x6xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<2x4x3xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<2x3x4xf32> {cs336.kind = "output", cs336.name = "b"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: %[[PARTS:.*]] = exec.view %x : memref<4x6xf32> to memref<2x4x3xf32, strided<[3, 6, 1]>>
  // CHECK-NEXT: exec.collective all_to_all ins(%[[PARTS]] : memref<2x4x3xf32, strided<[3, 6, 1]>>) outs(%a : memref<2x4x3xf32>) group = 2
  %split = cs336.reshape %x : tensor<4x6xf32> -> tensor<4x2x3xf32>
  %parts = cs336.transpose %split perm = [1, 0, 2] : tensor<4x2x3xf32> -> tensor<2x4x3xf32>
  %a = cs336.collective all_to_all(%parts) group = 2 : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  // CHECK: exec.copy ins(%{{.*}} : memref<2x3x4xf32, strided<[3, 1, 6]>>) outs(%[[COPY:.*]] : memref<2x3x4xf32>)
  // CHECK-NEXT: exec.collective all_to_all ins(%[[COPY]] : memref<2x3x4xf32>) outs(%b : memref<2x3x4xf32>) group = 2
  %columns = cs336.transpose %split perm = [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  %b = cs336.collective all_to_all(%columns) group = 2 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %a, %b : tensor<2x4x3xf32>, tensor<2x3x4xf32>
}

// -----

// Two ranks exchange two parts each, so these columns become a dense copy.
// CHECK-LABEL: exec.entry @more_columns_than_ranks
func.func @more_columns_than_ranks(%x: tensor<3x8xf32> {cs336.kind = "input", cs336.name = "x"}) -> (tensor<4x3x2xf32> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: exec.copy ins(%{{.*}} : memref<4x3x2xf32, strided<[2, 8, 1]>>) outs(%[[COPY:.*]] : memref<4x3x2xf32>)
  // CHECK-NEXT: exec.collective all_to_all ins(%[[COPY]] : memref<4x3x2xf32>) outs(%y : memref<4x3x2xf32>) group = 2
  %split = cs336.reshape %x : tensor<3x8xf32> -> tensor<3x4x2xf32>
  %parts = cs336.transpose %split perm = [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
  %y = cs336.collective all_to_all(%parts) group = 2 : (tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  return %y : tensor<4x3x2xf32>
}

// -----

// An all-reduce and a broadcast write over operands that nothing reads later. Other kinds do not, and neither does an
// operand that is read again or has two positions.
// CHECK-LABEL: exec.entry @in_place
func.func @in_place(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"}) -> (tensor<4x8xf32> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: exec.launch {{.*}} outs(%[[A:.*]] : memref<4x8xf32>)
  // CHECK-NEXT: exec.alloc
  // CHECK-NEXT: exec.launch {{.*}} outs(%[[B:.*]] : memref<4x8xf32>)
  %a = cs336.exp %x : tensor<4x8xf32>
  %b = cs336.sigmoid %x : tensor<4x8xf32>
  // CHECK-NEXT: exec.collective all_reduce mean ins(%[[A]], %[[B]] : memref<4x8xf32>, memref<4x8xf32>) outs(%[[A]], %[[B]] : memref<4x8xf32>, memref<4x8xf32>) group = 4
  %r:2 = cs336.collective all_reduce mean(%a, %b) group = 4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK-NEXT: exec.collective broadcast ins(%[[A]] : memref<4x8xf32>) outs(%[[A]] : memref<4x8xf32>)
  %c = cs336.collective broadcast(%r#0) group = 4 root = 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %[[D:.*]] = exec.alloc
  // CHECK-NEXT: exec.collective all_to_all ins(%[[A]] : memref<4x8xf32>) outs(%[[D]] : memref<4x8xf32>)
  %d = cs336.collective all_to_all(%c) group = 4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %[[E:.*]] = exec.alloc
  // CHECK-NEXT: exec.collective all_reduce max ins(%[[D]] : memref<4x8xf32>) outs(%[[E]] : memref<4x8xf32>)
  %e = cs336.collective all_reduce max(%d) group = 4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %[[F:.*]] = exec.alloc
  // CHECK-NEXT: %[[G:.*]] = exec.alloc
  // CHECK-NEXT: exec.collective all_reduce sum ins(%[[D]], %[[D]] : {{.*}}) outs(%[[F]], %[[G]] : memref<4x8xf32>, memref<4x8xf32>)
  %f:2 = cs336.collective all_reduce sum(%d, %d) group = 4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %g = cs336.add %f#0, %f#1 : tensor<4x8xf32>
  %h = cs336.add %e, %r#1 : tensor<4x8xf32>
  %y = cs336.add %g, %h : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Attention reads heads, and parts of a packed product, where they lie, as long as the last axis is contiguous; merging
// heads is a view.
// CHECK-LABEL: exec.entry @attention
func.func @attention(%qkv: tensor<2x5x96xf32> {cs336.kind = "input", cs336.name = "qkv"},
                     %vt: tensor<2x16x5x2xf32> {cs336.kind = "input", cs336.name = "vt"})
    -> (tensor<2x5x32xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  // CHECK: %q = exec.view %qkv : memref<2x5x96xf32> to memref<2x5x2x16xf32, strided<[480, 96, 16, 1]>>
  // CHECK: %k = exec.view %qkv : memref<2x5x96xf32> to memref<2x5x2x16xf32, strided<[480, 96, 16, 1], offset: 32>>
  // CHECK: exec.copy ins(%{{.*}} : memref<2x5x2x16xf32, strided<[160, 2, 1, 10]>>) outs(%[[V:.*]] : memref<2x5x2x16xf32>)
  // CHECK: exec.launch @attention_{{.*}} ins(%q, %k, %[[V]] : {{.*}}) outs(%[[O:.*]], %{{.*}} : memref<2x5x2x16xf32>, memref<2x2x5xf32>)
  // CHECK-NOT: exec.launch
  %q3 = cs336.slice %qkv offsets = [0, 0, 0] : tensor<2x5x96xf32> -> tensor<2x5x32xf32>
  %q = cs336.reshape %q3 : tensor<2x5x32xf32> -> tensor<2x5x2x16xf32> loc("q")
  %k3 = cs336.slice %qkv offsets = [0, 0, 32] : tensor<2x5x96xf32> -> tensor<2x5x32xf32>
  %k = cs336.reshape %k3 : tensor<2x5x32xf32> -> tensor<2x5x2x16xf32> loc("k")
  %v = cs336.transpose %vt perm = [0, 2, 3, 1] : tensor<2x16x5x2xf32> -> tensor<2x5x2x16xf32> loc("v")
  %o, %lse = cs336.attention %q, %k, %v {scale = 2.5e-01 : f64, causal} : tensor<2x5x2x16xf32>, tensor<2x5x2x16xf32> -> tensor<2x2x5xf32>
  %y = cs336.reshape %o : tensor<2x5x2x16xf32> -> tensor<2x5x32xf32>
  return %y : tensor<2x5x32xf32>
}

// Attentions that differ in their score functions alone have two kernels; equal ones share a kernel.
// CHECK-LABEL: exec.entry @score_functions
// CHECK: exec.launch @[[ONE:attention_.*]] ins(%q, %t :
// CHECK: exec.launch @[[TWO:attention_.*]] ins(%q, %t :
// CHECK: exec.launch @[[ONE]] ins(%q, %t :
func.func @score_functions(%q: tensor<2x5x2x16xf32> {cs336.kind = "input", cs336.name = "q"},
                           %t: tensor<2xf32> {cs336.kind = "input", cs336.name = "t"})
    -> (tensor<2x5x2x16xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<2x5x2x16xf32> {cs336.kind = "output", cs336.name = "b"},
        tensor<2x5x2x16xf32> {cs336.kind = "output", cs336.name = "c"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %a, %a1 = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<2x5x2x16xf32>, tensor<2x5x2x16xf32> -> tensor<2x2x5xf32> score(%t : tensor<2xf32>) {
  ^bb0(%s: tensor<f32>, %n: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<2xf32>):
    %x = cs336.element %table[%h] : tensor<2xf32>
    %r = cs336.sub %s, %x : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  %b, %b1 = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<2x5x2x16xf32>, tensor<2x5x2x16xf32> -> tensor<2x2x5xf32> score(%t : tensor<2xf32>) {
  ^bb0(%s: tensor<f32>, %n: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<2xf32>):
    %x = cs336.element %table[%h] : tensor<2xf32>
    %r = cs336.sub %x, %s : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  %c, %c1 = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<2x5x2x16xf32>, tensor<2x5x2x16xf32> -> tensor<2x2x5xf32> score(%t : tensor<2xf32>) {
  ^bb0(%s: tensor<f32>, %n: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<2xf32>):
    %x = cs336.element %table[%h] : tensor<2xf32>
    %r = cs336.sub %s, %x : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  return %a, %b, %c : tensor<2x5x2x16xf32>, tensor<2x5x2x16xf32>, tensor<2x5x2x16xf32>
}
