// RUN: cs336-opt %s --cs336-autocast --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-autocast=dtype=fp16 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=FP16
// RUN: cs336-opt %s --cs336-autocast=dtype=tf32 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=TF32
// RUN: cs336-opt %s --cs336-autocast -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --cs336-autocast -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir

// The toy model's types, which are PyTorch's under autocast: parameters f32, GEMMs and relu low, layer norm f32, logits
// low, loss f32, gradients f32.
// RUN: cs336-opt %examples/toy_model.mlir --cs336-autocast=dtype=fp16 -o %t.toy.fp16.mlir
// RUN: cs336-opt %examples/toy_model.mlir --cs336-autocast=dtype=bf16 -o %t.toy.bf16.mlir
// RUN: cs336-opt %t.toy.fp16.mlir --mlir-print-debuginfo=false | FileCheck %s --check-prefix=TOY -DLOW=f16
// RUN: cs336-opt %t.toy.bf16.mlir --mlir-print-debuginfo=false | FileCheck %s --check-prefix=TOY -DLOW=bf16
// TOY-LABEL: func.func @train(
// TOY-SAME: %{{[a-z0-9]+}}: tensor<16x10xf32> {{{[^}]*}}cs336.name = "fc1.weight"}
// TOY-SAME: %[[SCALE:[a-z0-9]+]]: tensor<16xf32> {{{[^}]*}}cs336.name = "ln.weight"}
// TOY-SAME: %[[SHIFT:[a-z0-9]+]]: tensor<16xf32> {{{[^}]*}}cs336.name = "ln.bias"}
// TOY-SAME: %{{[a-z0-9]+}}: tensor<5x16xf32> {{{[^}]*}}cs336.name = "fc2.weight"}
// TOY: cs336.linear {{.*}} : tensor<20x10x[[LOW]]>, tensor<16x10x[[LOW]]> -> tensor<20x16x[[LOW]]>
// TOY: cs336.relu {{.*}} : tensor<20x16x[[LOW]]>
// TOY: cs336.layer_norm {{.*}}, %[[SCALE]], %[[SHIFT]] {{.*}} : tensor<20x16xf32>, tensor<16xf32>
// TOY: %[[LOGITS:.*]] = cs336.linear {{.*}} : tensor<20x16x[[LOW]]>, tensor<5x16x[[LOW]]> -> tensor<20x5x[[LOW]]>
// TOY: %[[LOSS:.*]] = cs336.cross_entropy {{.*}} : tensor<20x5xf32>, tensor<20xi64> -> tensor<f32>
// TOY: return %[[LOSS]], %[[LOGITS]] : tensor<f32>, tensor<20x5x[[LOW]]>
// RUN: cs336-opt %t.toy.fp16.mlir --cs336-decompose --cs336-differentiate | FileCheck %s --check-prefix=GRADIENTS
// RUN: cs336-opt %t.toy.bf16.mlir --cs336-decompose --cs336-differentiate | FileCheck %s --check-prefix=GRADIENTS
// GRADIENTS-LABEL: func.func @train(
// GRADIENTS-SAME: tensor<16x10xf32> {cs336.kind = "gradient", cs336.name = "fc1.weight"}
// GRADIENTS-SAME: tensor<16xf32> {cs336.kind = "gradient", cs336.name = "ln.weight"}
// GRADIENTS-SAME: tensor<16xf32> {cs336.kind = "gradient", cs336.name = "ln.bias"}
// GRADIENTS-SAME: tensor<5x16xf32> {cs336.kind = "gradient", cs336.name = "fc2.weight"}

// The toy model in mixed precision: parameters f32, fc1 low, layer norm f32, logits low, loss f32.
// CHECK-LABEL: func.func @toy(
// CHECK-SAME: -> (tensor<f32> {{{.*}}"loss"}, tensor<20x5xbf16> {{{.*}}"logits"})
// FP16-LABEL: func.func @toy(
// FP16-SAME: -> (tensor<f32> {{{.*}}"loss"}, tensor<20x5xf16> {{{.*}}"logits"})
// FP16: cs336.linear %{{.*}} : tensor<20x10xf16>, tensor<16x10xf16> -> tensor<20x16xf16>
// TF32-LABEL: func.func @toy(
// TF32-SAME: -> (tensor<f32> {{{.*}}"loss"}, tensor<20x5xf32> {{{.*}}"logits"})
func.func @toy(%fc1: tensor<16x10xf32> {cs336.kind = "parameter", cs336.name = "fc1.weight"},
    %scale: tensor<16xf32> {cs336.kind = "parameter", cs336.name = "ln.weight"},
    %shift: tensor<16xf32> {cs336.kind = "parameter", cs336.name = "ln.bias"},
    %fc2: tensor<5x16xf32> {cs336.kind = "parameter", cs336.name = "fc2.weight"},
    %x: tensor<20x10xf32> {cs336.kind = "input", cs336.name = "x"},
    %labels: tensor<20xi64> {cs336.kind = "input", cs336.name = "labels", cs336.bound = 5 : i64})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<20x5xf32> {cs336.kind = "output", cs336.name = "logits"})
    attributes {cs336.mode = #cs336.mode<train>} {
  // CHECK-NEXT: cs336.cast %{{.*}} : tensor<20x10xf32> -> tensor<20x10xbf16>
  // CHECK-NEXT: cs336.cast %{{.*}} : tensor<16x10xf32> -> tensor<16x10xbf16>
  // CHECK-NEXT: %[[FC1:.*]] = cs336.linear %{{.*}} : tensor<20x10xbf16>, tensor<16x10xbf16> -> tensor<20x16xbf16>
  // CHECK-NEXT: %[[RELU:.*]] = cs336.relu %[[FC1]] : tensor<20x16xbf16>
  // CHECK-NEXT: %[[WIDE:.*]] = cs336.cast %[[RELU]] : tensor<20x16xbf16> -> tensor<20x16xf32>
  // CHECK-NEXT: %[[LN:.*]] = cs336.layer_norm %[[WIDE]], %{{.*}} : tensor<20x16xf32>, tensor<16xf32>
  // CHECK-NEXT: cs336.cast %[[LN]] : tensor<20x16xf32> -> tensor<20x16xbf16>
  // CHECK-NEXT: cs336.cast %{{.*}} : tensor<5x16xf32> -> tensor<5x16xbf16>
  // CHECK-NEXT: %[[LOGITS:.*]] = cs336.linear %{{.*}} -> tensor<20x5xbf16>
  // CHECK-NEXT: %[[LOGITSW:.*]] = cs336.cast %[[LOGITS]] : tensor<20x5xbf16> -> tensor<20x5xf32>
  // CHECK-NEXT: %[[LOSS:.*]] = cs336.cross_entropy %[[LOGITSW]], %{{.*}} : tensor<20x5xf32>, tensor<20xi64> -> tensor<f32>
  // CHECK-NEXT: return %[[LOSS]], %[[LOGITS]] : tensor<f32>, tensor<20x5xbf16>
  // TF32-NOT: cs336.cast
  // TF32: cs336.linear {{.*}} {precision = #cs336.precision<tf32>}
  // TF32: cs336.linear {{.*}} {precision = #cs336.precision<tf32>}
  %0 = cs336.linear %x, %fc1 : tensor<20x10xf32>, tensor<16x10xf32> -> tensor<20x16xf32>
  %1 = cs336.relu %0 : tensor<20x16xf32>
  %2 = cs336.layer_norm %1, %scale, %shift eps = 1.0e-05 : tensor<20x16xf32>, tensor<16xf32>
  %3 = cs336.linear %2, %fc2 : tensor<20x16xf32>, tensor<5x16xf32> -> tensor<20x5xf32>
  %loss = cs336.cross_entropy %3, %labels : tensor<20x5xf32>, tensor<20xi64> -> tensor<f32>
  return %loss, %3 : tensor<f32>, tensor<20x5xf32>
}

// The widest input wins: the residual stream stays f32. A value is cast once for all that read it.
// CHECK-LABEL: @residual
func.func @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[XL:.*]] = cs336.cast %{{.*}} : tensor<4x8xf32> -> tensor<4x8xbf16>
  // CHECK: %[[Y:.*]] = cs336.linear %[[XL]]
  // CHECK-NOT: cs336.cast %{{.*}} : tensor<4x8xf32> -> tensor<4x8xbf16>
  // CHECK: cs336.linear %[[XL]]
  // CHECK: %[[YW:.*]] = cs336.cast %[[Y]] : tensor<4x8xbf16> -> tensor<4x8xf32>
  // CHECK: cs336.add %{{.*}}, %[[YW]] : tensor<4x8xf32>
  // CHECK: cs336.exp %[[YW]] : tensor<4x8xf32>
  // CHECK: cs336.mul %[[Y]], %{{.*}} : tensor<4x8xbf16>
  // CHECK: return %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xbf16>
  %0 = cs336.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = cs336.linear %x, %v : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = cs336.add %x, %0 : tensor<4x8xf32>
  %3 = cs336.exp %0 : tensor<4x8xf32>
  %4 = cs336.mul %0, %1 : tensor<4x8xf32>
  return %2, %3, %4 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A number does not widen what it multiplies; what bf16 cannot hold is applied in f32 and rounded.
// CHECK-LABEL: @numbers
func.func @numbers(%q: tensor<4x8xf32>, %p: tensor<4x4xi1>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK: %[[S:.*]] = cs336.matmul {{.*}} -> tensor<4x4xbf16>
  // CHECK: %[[QUARTER:.*]] = cs336.constant dense<2.500000e-01> : tensor<4x4xf32>
  // CHECK: %[[QL:.*]] = cs336.cast %[[QUARTER]] : tensor<4x4xf32> -> tensor<4x4xbf16>
  // CHECK: cs336.mul %[[S]], %[[QL]] : tensor<4x4xbf16>
  // CHECK: %[[SW:.*]] = cs336.cast %[[S]] : tensor<4x4xbf16> -> tensor<4x4xf32>
  // CHECK: %[[T:.*]] = cs336.mul %[[SW]], %{{.*}} : tensor<4x4xf32>
  // CHECK: cs336.cast %[[T]] : tensor<4x4xf32> -> tensor<4x4xbf16>
  // CHECK: cs336.select %{{.*}}, %[[S]], %{{.*}} : tensor<4x4xbf16>
  // CHECK: return %{{.*}} : tensor<4x4xbf16>, tensor<4x4xbf16>, tensor<4x4xbf16>
  %s = cs336.matmul %q, %q {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %quarter = cs336.constant dense<0.25> : tensor<4x4xf32>
  %0 = cs336.mul %s, %quarter : tensor<4x4xf32>
  %tenth = cs336.constant dense<0.1> : tensor<f32>
  %tenths = cs336.broadcast %tenth dims = [] : tensor<f32> -> tensor<4x4xf32>
  %1 = cs336.mul %s, %tenths : tensor<4x4xf32>
  %minus_infinity = cs336.constant dense<0xFF800000> : tensor<4x4xf32>
  %2 = cs336.select %p, %s, %minus_infinity : tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Layout operations and operations without a policy keep the type of their operands; casts of the program stay.
// CHECK-LABEL: @keep
func.func @keep(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<4x8xf64>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: cs336.transpose %{{.*}} : tensor<4x8xbf16> -> tensor<8x4xbf16>
  // CHECK: cs336.cast %{{.*}} : tensor<4x8xbf16> -> tensor<4x8xf64>
  // CHECK: cs336.rms_norm %{{.*}} : tensor<4x8xbf16>, tensor<8xf32>
  // CHECK: cs336.reduce max %{{.*}} : tensor<4x8xbf16> -> tensor<4xbf16>
  // CHECK: cs336.reduce sum %{{.*}} : tensor<4x8xf32> -> tensor<4xf32>
  %0 = cs336.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = cs336.transpose %0 perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %2 = cs336.cast %0 : tensor<4x8xf32> -> tensor<4x8xf64>
  %3 = cs336.rms_norm %0, %g eps = 1.0e-05 : tensor<4x8xf32>, tensor<8xf32>
  %4 = cs336.reduce max %0 axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %5 = cs336.reduce sum %0 axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  return %1, %2, %3, %4, %5 : tensor<8x4xf32>, tensor<4x8xf64>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}

// A reciprocal is float32; a quotient of tensors, or of a tensor and a number, has the tensors' type.
// CHECK-LABEL: func.func @quotients(
// CHECK: %[[LOW:.*]] = cs336.linear {{.*}} -> tensor<4x8xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = cs336.cast %[[LOW]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK-NEXT: cs336.div %{{.*}}, %[[WIDE]] : tensor<4x8xf32>
// CHECK: cs336.div %[[LOW]], %{{.*}} : tensor<4x8xbf16>
// CHECK: cs336.div %[[LOW]], %[[LOW]] : tensor<4x8xbf16>
func.func @quotients(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %two = cs336.constant dense<2.0> : tensor<4x8xf32>
  %0 = cs336.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = cs336.div %two, %0 : tensor<4x8xf32>
  %2 = cs336.div %0, %two : tensor<4x8xf32>
  %3 = cs336.div %0, %0 : tensor<4x8xf32>
  return %1, %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// Float64, which is for checking, stays. So do GEMMs in it under tf32.
// CHECK-LABEL: @double
// TF32-LABEL: @double
func.func @double(%x: tensor<4x8xf64>, %w: tensor<8x8xf64>) -> tensor<4x8xf64> {
  // CHECK-NEXT: cs336.linear
  // CHECK-NEXT: cs336.exp
  // CHECK-NEXT: return
  // TF32-NOT: precision
  %0 = cs336.linear %x, %w : tensor<4x8xf64>, tensor<8x8xf64> -> tensor<4x8xf64>
  %1 = cs336.exp %0 : tensor<4x8xf64>
  return %1 : tensor<4x8xf64>
}

// Operations without a policy get operands of their original types.
// CHECK-LABEL: @foreign
// TF32-LABEL: @foreign
func.func @foreign(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %p: i1) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[Y:.*]] = cs336.linear
  // CHECK: %[[BACK:.*]] = cs336.cast %[[Y]] : tensor<4x8xbf16> -> tensor<4x8xf32>
  // CHECK: call @callee(%[[BACK]])
  // CHECK: scf.if
  // CHECK: scf.yield %[[BACK]]
  %0 = cs336.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = call @callee(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = scf.if %p -> tensor<4x8xf32> {
    scf.yield %0 : tensor<4x8xf32>
  } else {
    scf.yield %x : tensor<4x8xf32>
  }
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
func.func private @callee(tensor<4x8xf32>) -> tensor<4x8xf32>

// Attention computes in the low type and keeps its sums in float32.
// CHECK-LABEL: func.func @attention(
// FP16-LABEL: func.func @attention(
// TF32-LABEL: func.func @attention(
func.func @attention(%q: tensor<2x5x4x16xf32>, %k: tensor<2x7x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>) {
  // CHECK: cs336.attention %{{.*}} : tensor<2x5x4x16xbf16>, tensor<2x7x2x16xbf16> -> tensor<2x4x5xf32>
  // CHECK-NEXT: return %{{.*}}, %{{.*}} : tensor<2x5x4x16xbf16>, tensor<2x4x5xf32>
  // FP16: cs336.attention %{{.*}} : tensor<2x5x4x16xf16>, tensor<2x7x2x16xf16> -> tensor<2x4x5xf32>
  // TF32: cs336.attention %{{.*}} {causal, precision = #cs336.precision<tf32>, scale = 2.500000e-01 : f64} : tensor<2x5x4x16xf32>
  %o, %lse = cs336.attention %q, %k, %k {scale = 2.5e-01 : f64, causal} : tensor<2x5x4x16xf32>, tensor<2x7x2x16xf32> -> tensor<2x4x5xf32>
  return %o, %lse : tensor<2x5x4x16xf32>, tensor<2x4x5xf32>
}

// Tables of a score function keep their type, or get back the one that they had.
// CHECK-LABEL: func.func @score_function
// CHECK: %[[LOW:.*]] = cs336.matmul {{.*}} -> tensor<4x2xbf16>
// CHECK: %[[WIDE:.*]] = cs336.cast %[[LOW]] : tensor<4x2xbf16> -> tensor<4x2xf32>
// CHECK: cs336.attention {{.*}} : tensor<1x5x4x16xbf16>, tensor<1x5x4x16xbf16> -> tensor<1x4x5xf32> score(%[[WIDE]], %arg3 : tensor<4x2xf32>, tensor<f32>) {
// CHECK: cs336.mul %{{.*}}, %{{.*}} : tensor<f32>
func.func @score_function(%q: tensor<1x5x4x16xf32>, %a: tensor<4x3xf32>, %b: tensor<3x2xf32>, %c: tensor<f32>) -> tensor<1x5x4x16xf32> {
  %t = cs336.matmul %a, %b : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64}
      : tensor<1x5x4x16xf32>, tensor<1x5x4x16xf32> -> tensor<1x4x5xf32> score(%t, %c : tensor<4x2xf32>, tensor<f32>) {
  ^bb0(%s: tensor<f32>, %n: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<4x2xf32>, %number: tensor<f32>):
    %zero = cs336.constant dense<0> : tensor<i32>
    %x = cs336.element %table[%h, %zero] : tensor<4x2xf32>
    %y = cs336.element %number[] : tensor<f32>
    %z = cs336.mul %x, %y : tensor<f32>
    %r = cs336.add %s, %z : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  return %o : tensor<1x5x4x16xf32>
}
