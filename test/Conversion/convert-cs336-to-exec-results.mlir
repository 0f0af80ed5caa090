// Which results are written directly to their final storage, and why.
// RUN: cs336-opt %s --split-input-file --convert-cs336-to-exec --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --convert-cs336-to-exec --remarks-filter=convert-cs336-to-exec --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The optimizer's update is written over parameter and moments, and later readers see the new value.
// CHECK-LABEL: exec.entry @update
// CHECK: %loss = exec.output "loss" output
// CHECK-NEXT: exec.launch @adamw_{{.*}} ins(%p, %g, %m, %v, %lr, %apply : {{.*}}) outs(%p, %m, %v :
// CHECK-NEXT: exec.launch @reduce_{{.*}} ins(%p : memref<4x8xf32>) outs(%loss : memref<f32>)
// CHECK-NEXT: }
func.func @update(%p: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "p"},
                  %m: tensor<4x8xf32> {cs336.kind = "state", cs336.name = "m"},
                  %v: tensor<4x8xf32> {cs336.kind = "state", cs336.name = "v"},
                  %g: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "g"},
                  %lr: tensor<f32> {cs336.kind = "input", cs336.name = "lr"},
                  %apply: tensor<i1> {cs336.kind = "input", cs336.name = "apply"})
    -> (tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "p"}, tensor<4x8xf32> {cs336.kind = "state", cs336.name = "m"},
        tensor<4x8xf32> {cs336.kind = "state", cs336.name = "v"}, tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %p1, %m1, %v1 = cs336.adamw %p, %g, %m, %v lr = %lr, correction1 = %lr, correction2 = %lr, scale = %lr, apply = %apply
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
      : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>
  %loss = cs336.reduce sum %p1 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %p1, %m1, %v1, %loss : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>
}

// -----

// The old value is read later (here through a view): the new one waits in a temporary.
// CHECK-LABEL: exec.entry @read_later
// CHECK: %[[NEW:.*]] = exec.alloc : memref<8x8xf32>
// CHECK-NEXT: exec.launch @neg_{{.*}} ins(%p : memref<8x8xf32>) outs(%[[NEW]] : memref<8x8xf32>)
// CHECK-NEXT: %[[OLD:.*]] = exec.view %p : memref<8x8xf32> to memref<8x8xf32, strided<[1, 8]>>
// CHECK-NEXT: exec.launch @exp_{{.*}} ins(%[[OLD]] : {{.*}}) outs(%y :
// CHECK-NEXT: exec.copy ins(%[[NEW]] : memref<8x8xf32>) outs(%p : memref<8x8xf32>)
// REMARK: [Missed] VariableCopied {{.*}}the new value is copied to its variable at the end: the old value is read here or later
func.func @read_later(%p: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "p"})
    -> (tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "p"}, tensor<8x8xf32> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %t = cs336.transpose %p perm = [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %p1 = cs336.neg %p : tensor<8x8xf32>
  %y = cs336.exp %t : tensor<8x8xf32>
  return %p1, %y : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// The command for the new value reads the old one, but not element by element: through a view, or as an operand of a
// product. A reduction that was over before is no obstacle.
// CHECK-LABEL: exec.entry @not_elementwise
// CHECK: %[[A:.*]] = exec.alloc : memref<8x8xf32>
// CHECK: exec.launch @add_{{.*}} ins(%a, %{{.*}} : memref<8x8xf32>, memref<8x8xf32, strided<[1, 8]>>) outs(%[[A]] :
// CHECK: exec.launch @reduce_{{.*}} ins(%b : memref<8xf32>) outs(%[[B1:.*]] : memref<f32>)
// CHECK: exec.launch @mul_{{.*}} ins(%b, %[[B1]] : memref<8xf32>, memref<f32>) outs(%b : memref<8xf32>)
// CHECK: %[[C:.*]] = exec.alloc : memref<8x8xf32>
// CHECK: exec.gemm ins(%c, %c : {{.*}}) outs(%[[C]] : memref<8x8xf32>)
// CHECK: exec.copy ins(%[[A]] : memref<8x8xf32>) outs(%a : memref<8x8xf32>)
// CHECK-NEXT: exec.copy ins(%[[C]] : memref<8x8xf32>) outs(%c : memref<8x8xf32>)
func.func @not_elementwise(%a: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "a"},
                           %b: tensor<8xf32> {cs336.kind = "parameter", cs336.name = "b"},
                           %c: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "c"})
    -> (tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "a"}, tensor<8xf32> {cs336.kind = "parameter", cs336.name = "b"},
        tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "c"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %at = cs336.transpose %a perm = [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %a1 = cs336.add %a, %at : tensor<8x8xf32>
  %sum = cs336.reduce sum %b axes = [0] : tensor<8xf32> -> tensor<f32>
  %sums = cs336.broadcast %sum dims = [] : tensor<f32> -> tensor<8xf32>
  %b1 = cs336.mul %b, %sums : tensor<8xf32>
  %c1 = cs336.matmul %c, %c : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %a1, %b1, %c1 : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>
}

// -----

// Variables change as if at once: a permutation goes through temporaries, what stays the same costs nothing.
// CHECK-LABEL: exec.entry @permute
// CHECK: %[[B:.*]] = exec.alloc : memref<4xf32>
// CHECK-NEXT: exec.copy ins(%b : memref<4xf32>) outs(%[[B]] : memref<4xf32>)
// CHECK-NEXT: %[[A:.*]] = exec.alloc : memref<4xf32>
// CHECK-NEXT: exec.copy ins(%a : memref<4xf32>) outs(%[[A]] : memref<4xf32>)
// CHECK-NEXT: exec.copy ins(%[[B]] : memref<4xf32>) outs(%a : memref<4xf32>)
// CHECK-NEXT: exec.copy ins(%[[A]] : memref<4xf32>) outs(%b : memref<4xf32>)
// CHECK-NEXT: exec.copy ins(%kept : memref<4xf32>) outs(%d : memref<4xf32>)
// CHECK-NEXT: }
func.func @permute(%a: tensor<4xf32> {cs336.kind = "state", cs336.name = "a"},
                   %b: tensor<4xf32> {cs336.kind = "state", cs336.name = "b"},
                   %kept: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "kept"},
                   %d: tensor<4xf32> {cs336.kind = "state", cs336.name = "d"})
    -> (tensor<4xf32> {cs336.kind = "state", cs336.name = "a"}, tensor<4xf32> {cs336.kind = "state", cs336.name = "b"},
        tensor<4xf32> {cs336.kind = "parameter", cs336.name = "kept"}, tensor<4xf32> {cs336.kind = "state", cs336.name = "d"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %b, %a, %kept, %kept : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A variable's own transposition; a constant; and one new value for two variables and an output.
// CHECK-LABEL: exec.entry @odd_values
// CHECK: exec.launch @exp_{{.*}} ins(%x : memref<4xf32>) outs(%e : memref<4xf32>)
// CHECK-NEXT: exec.copy ins(%e : memref<4xf32>) outs(%y : memref<4xf32>)
// CHECK: %[[T:.*]] = exec.alloc : memref<4x4xf32>
// CHECK-NEXT: exec.copy ins(%{{.*}} : memref<4x4xf32, strided<[1, 4]>>) outs(%[[T]] : memref<4x4xf32>)
// CHECK-NEXT: exec.copy ins(%[[T]] : memref<4x4xf32>) outs(%w : memref<4x4xf32>)
// CHECK-NEXT: exec.launch @constant_{{.*}} outs(%c : memref<i64>)
// CHECK-NEXT: exec.copy ins(%e : memref<4xf32>) outs(%f : memref<4xf32>)
// CHECK-NEXT: }
func.func @odd_values(%w: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w"},
                      %c: tensor<i64> {cs336.kind = "state", cs336.name = "c"},
                      %e: tensor<4xf32> {cs336.kind = "state", cs336.name = "e"},
                      %f: tensor<4xf32> {cs336.kind = "state", cs336.name = "f"},
                      %x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w"}, tensor<i64> {cs336.kind = "state", cs336.name = "c"},
        tensor<4xf32> {cs336.kind = "state", cs336.name = "e"}, tensor<4xf32> {cs336.kind = "state", cs336.name = "f"},
        tensor<4xf32> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %t = cs336.transpose %w perm = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %zero = cs336.constant dense<0> : tensor<i64>
  %n = cs336.exp %x : tensor<4xf32>
  return %t, %zero, %n, %n, %n : tensor<4x4xf32>, tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Outputs: an argument, a view, a constant, a value twice, the old value of a variable that changes.
// CHECK-LABEL: exec.entry @outputs
// CHECK: %[[NEW:.*]] = exec.alloc : memref<2x2xf32>
// CHECK-NEXT: exec.launch @neg_{{.*}} ins(%w : memref<2x2xf32>) outs(%[[NEW]] : memref<2x2xf32>)
// CHECK-NEXT: exec.launch @exp_{{.*}} ins(%x : memref<2x2xf32>) outs(%d : memref<2x2xf32>)
// CHECK-NEXT: exec.copy ins(%x : memref<2x2xf32>) outs(%a : memref<2x2xf32>)
// CHECK-NEXT: %[[T:.*]] = exec.view %d : memref<2x2xf32> to memref<2x2xf32, strided<[1, 2]>>
// CHECK-NEXT: exec.copy ins(%[[T]] : memref<2x2xf32, strided<[1, 2]>>) outs(%b : memref<2x2xf32>)
// CHECK-NEXT: exec.launch @iota_{{.*}} outs(%c : memref<2x2xf32>)
// CHECK-NEXT: exec.copy ins(%d : memref<2x2xf32>) outs(%e : memref<2x2xf32>)
// CHECK-NEXT: exec.copy ins(%w : memref<2x2xf32>) outs(%f : memref<2x2xf32>)
// CHECK-NEXT: exec.copy ins(%[[NEW]] : memref<2x2xf32>) outs(%w : memref<2x2xf32>)
// CHECK-NEXT: }
func.func @outputs(%w: tensor<2x2xf32> {cs336.kind = "parameter", cs336.name = "w"},
                   %x: tensor<2x2xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<2x2xf32> {cs336.kind = "output", cs336.name = "a"}, tensor<2x2xf32> {cs336.kind = "output", cs336.name = "b"},
        tensor<2x2xf32> {cs336.kind = "output", cs336.name = "c"}, tensor<2x2xf32> {cs336.kind = "output", cs336.name = "d"},
        tensor<2x2xf32> {cs336.kind = "output", cs336.name = "e"}, tensor<2x2xf32> {cs336.kind = "output", cs336.name = "f"},
        tensor<2x2xf32> {cs336.kind = "parameter", cs336.name = "w"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %w1 = cs336.neg %w : tensor<2x2xf32>
  %n = cs336.exp %x : tensor<2x2xf32>
  %t = cs336.transpose %n perm = [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %i = cs336.iota axis = 0 : tensor<2x2xf32>
  return %x, %t, %i, %n, %n, %w, %w1 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// A pointwise launch writes over an operand that dies there: not over inputs or outputs, not over what is read later, not
// over another type.
// CHECK-LABEL: exec.entry @reuse
// CHECK: %[[A:.*]] = exec.alloc : memref<4x4xf32>
// CHECK-NEXT: exec.launch @exp_{{.*}} ins(%x : {{.*}}) outs(%[[A]] :
// CHECK-NEXT: exec.launch @neg_{{.*}} ins(%[[A]] : {{.*}}) outs(%[[A]] :
// CHECK-NEXT: %[[B:.*]] = exec.alloc : memref<4x4xf32>
// CHECK-NEXT: exec.launch @exp_{{.*}} ins(%[[A]] : {{.*}}) outs(%[[B]] :
// CHECK-NEXT: exec.launch @mul_{{.*}} ins(%[[A]], %[[B]] : {{.*}}) outs(%[[A]] :
// CHECK-NEXT: %[[C:.*]] = exec.alloc : memref<4x4xbf16>
// CHECK-NEXT: exec.launch @cast_{{.*}} ins(%[[A]] : {{.*}}) outs(%[[C]] :
// CHECK-NEXT: %[[D:.*]] = exec.alloc : memref<4x4xbf16>
// CHECK-NEXT: exec.launch @transpose_add_{{.*}} ins(%[[C]] : {{.*}}) outs(%[[D]] :
// CHECK-NEXT: exec.launch @neg_{{.*}} ins(%[[D]] : {{.*}}) outs(%y :
// CHECK-NEXT: %[[E:.*]] = exec.alloc : memref<4x4xbf16>
// CHECK-NEXT: exec.launch @neg_{{.*}} ins(%y : {{.*}}) outs(%[[E]] :
func.func @reuse(%x: tensor<4x4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x4xbf16> {cs336.kind = "output", cs336.name = "y"}, tensor<bf16> {cs336.kind = "output", cs336.name = "z"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %a = cs336.exp %x : tensor<4x4xf32>
  %b = cs336.neg %a : tensor<4x4xf32>
  %c = cs336.exp %b : tensor<4x4xf32>
  %d = cs336.mul %b, %c : tensor<4x4xf32>
  %e = cs336.cast %d : tensor<4x4xf32> -> tensor<4x4xbf16>
  %f = cs336.fused(%e) {
  ^bb0(%p: tensor<4x4xbf16>):
    %t = cs336.transpose %p perm = [1, 0] : tensor<4x4xbf16> -> tensor<4x4xbf16>
    %s = cs336.add %p, %t : tensor<4x4xbf16>
    cs336.yield %s : tensor<4x4xbf16>
  } : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %y = cs336.neg %f : tensor<4x4xbf16>
  %g = cs336.neg %y : tensor<4x4xbf16>
  %z = cs336.reduce sum %g axes = [0, 1] : tensor<4x4xbf16> -> tensor<bf16>
  return %y, %z : tensor<4x4xbf16>, tensor<bf16>
}

// -----

// A broadcast takes an element of %a to many elements of %z: a loop over %z may compute exp(%a) from %a again, after a loop
// over %y, so that %y does not replace %a. Without the broadcast, it does.
// CHECK-LABEL: exec.entry @broadcast_elsewhere
// CHECK: %[[A:.*]] = exec.alloc : memref<4xf32>
// CHECK-NEXT: exec.launch @neg_{{.*}} ins(%x : {{.*}}) outs(%[[A]] :
// CHECK-NEXT: %[[Y:.*]] = exec.alloc : memref<4xf32>
// CHECK: exec.launch @exp_mul_{{.*}} ins(%[[A]], %{{.*}} : {{.*}}) outs(%[[Y]], %
// CHECK-NEXT: exec.launch @neg_{{.*}} ins(%[[Y]] : {{.*}}) outs(%[[Y]] :
// CHECK: exec.launch @exp_tanh_{{.*}} ins(%[[Y]] : {{.*}}) outs(%[[Y]], %
func.func @broadcast_elsewhere(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"},
    %w: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "w"})
    -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "u"}, tensor<4xf32> {cs336.kind = "output", cs336.name = "v"},
        tensor<4x8xf32> {cs336.kind = "output", cs336.name = "z"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %a = cs336.neg %x : tensor<4xf32>
  %y, %z = cs336.fused(%a, %w) {
  ^bb0(%p: tensor<4xf32>, %q: tensor<4x8xf32>):
    %e = cs336.exp %p : tensor<4xf32>
    %b = cs336.broadcast %e dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
    %m = cs336.mul %b, %q : tensor<4x8xf32>
    cs336.yield %e, %m : tensor<4xf32>, tensor<4x8xf32>
  } : (tensor<4xf32>, tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>)
  %c = cs336.neg %y : tensor<4xf32>
  %d, %f = cs336.fused(%c) {
  ^bb0(%p: tensor<4xf32>):
    %e = cs336.exp %p : tensor<4xf32>
    %t = cs336.tanh %e : tensor<4xf32>
    cs336.yield %e, %t : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %u = cs336.neg %d : tensor<4xf32>
  %v = cs336.neg %f : tensor<4xf32>
  return %u, %v, %z : tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>
}

// -----

// A kernel of rows writes over what it reads rows of, and not where it needs other rows: %t takes sums to columns.
// CHECK-LABEL: exec.entry @rows
// CHECK: %[[A:.*]] = exec.alloc : memref<4x4xf32>
// CHECK-NEXT: exec.launch @exp_{{.*}} ins(%x : {{.*}}) outs(%[[A]] :
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : {{.*}}) outs(%[[A]] :
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : {{.*}}) outs(%y :
func.func @rows(%x: tensor<4x4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x4xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %a = cs336.exp %x : tensor<4x4xf32>
  %b = cs336.fused(%a) {
  ^bb0(%p: tensor<4x4xf32>):
    %s = cs336.reduce sum %p axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
    %r = cs336.broadcast %s dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
    %d = cs336.div %p, %r : tensor<4x4xf32>
    cs336.yield %d : tensor<4x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = cs336.neg %b : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// CHECK-LABEL: exec.entry @columns
// CHECK: %[[A:.*]] = exec.alloc : memref<4x4xf32>
// CHECK-NEXT: exec.launch @exp_{{.*}} ins(%x : {{.*}}) outs(%[[A]] :
// CHECK-NEXT: %[[B:.*]] = exec.alloc : memref<4x4xf32>
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : {{.*}}) outs(%[[B]] :
func.func @columns(%x: tensor<4x4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x4xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %a = cs336.exp %x : tensor<4x4xf32>
  %b = cs336.fused(%a) {
  ^bb0(%p: tensor<4x4xf32>):
    %s = cs336.reduce sum %p axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
    %t = cs336.broadcast %s dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
    %d = cs336.div %p, %t : tensor<4x4xf32>
    cs336.yield %d : tensor<4x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = cs336.neg %b : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// A view keeps its storage alive.
// CHECK-LABEL: exec.entry @alive
// CHECK: %[[A:.*]] = exec.alloc : memref<4x4xf32>
// CHECK-NEXT: exec.launch @exp_{{.*}} ins(%x : {{.*}}) outs(%[[A]] :
// CHECK-NEXT: %[[B:.*]] = exec.alloc : memref<4x4xf32>
// CHECK-NEXT: exec.launch @neg_{{.*}} ins(%[[A]] : {{.*}}) outs(%[[B]] :
// CHECK-NEXT: %[[V:.*]] = exec.view %[[A]]
// CHECK-NEXT: exec.launch @mul_{{.*}} ins(%[[V]], %[[B]] : {{.*}}) outs(%y :
func.func @alive(%x: tensor<4x4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x4xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %a = cs336.exp %x : tensor<4x4xf32>
  %v = cs336.transpose %a perm = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %b = cs336.neg %a : tensor<4x4xf32>
  %y = cs336.mul %v, %b : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
