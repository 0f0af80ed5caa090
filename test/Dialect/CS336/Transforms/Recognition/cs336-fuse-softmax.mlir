// Softmaxes written as primitives become one operation. Similar programs stay, and a remark gives the reason.

// RUN: cs336-opt %s --cs336-fuse-softmax --split-input-file --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-fuse-softmax --split-input-file --mlir-print-debuginfo=false > %t.once
// RUN: cs336-opt %t.once --cs336-fuse-softmax --split-input-file --mlir-print-debuginfo=false | diff %t.once -
// RUN: cs336-opt %s --cs336-fuse-softmax --split-input-file -o /dev/null --remarks-filter=cs336-fuse-softmax --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// Scale and causal mask, as the frontend writes them. The mask has no axes that it is repeated along.

// CHECK-LABEL: func @scaled_and_masked(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4x8xf32>)
// CHECK:         %[[VISIBLE:.*]] = cs336.compare ge
// CHECK-NEXT:    %[[Y:.*]] = cs336.softmax %[[X]] mask %[[VISIBLE]] {scale = 1.250000e-01 : f64} : tensor<2x4x8xf32>, tensor<4x8xi1>
// CHECK-NEXT:    return %[[Y]]
// REMARK: [Passed] Fused {{.*}}"a softmax of 8 elements, scaled by 0.125, masked"
func.func @scaled_and_masked(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %q = cs336.iota axis = 0 : tensor<4x8xi32>
  %k = cs336.iota axis = 1 : tensor<4x8xi32>
  %p = cs336.compare ge %q, %k : tensor<4x8xi32>
  %visible = cs336.broadcast %p dims = [1, 2] : tensor<4x8xi1> -> tensor<2x4x8xi1>
  %eighth = cs336.constant dense<1.250000e-01> : tensor<2x4x8xf32>
  %hidden = cs336.constant dense<0xFF800000> : tensor<2x4x8xf32>
  %s = cs336.mul %x, %eighth : tensor<2x4x8xf32>
  %z = cs336.select %visible, %s, %hidden : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// A row, and a maximum that has a gradient, which is zero.

// CHECK-LABEL: func @row(
// CHECK-NEXT:    %[[Y:.*]] = cs336.softmax %{{.*}} : tensor<8xf64>
// CHECK-NEXT:    return %[[Y]]
// REMARK: [Passed] Fused {{.*}}"a softmax of 8 elements"
func.func @row(%x: tensor<8xf64>) -> tensor<8xf64> {
  %max = cs336.reduce max %x axes = [0] : tensor<8xf64> -> tensor<f64>
  %mb = cs336.broadcast %max dims = [] : tensor<f64> -> tensor<8xf64>
  %d = cs336.sub %x, %mb : tensor<8xf64>
  %e = cs336.exp %d : tensor<8xf64>
  %t = cs336.reduce sum %e axes = [0] : tensor<8xf64> -> tensor<f64>
  %tb = cs336.broadcast %t dims = [] : tensor<f64> -> tensor<8xf64>
  %y = cs336.div %e, %tb : tensor<8xf64>
  return %y : tensor<8xf64>
}

// -----

// A reciprocal instead of a quotient, before it is repeated or after.

// CHECK-LABEL: func @reciprocal_of_sum(
// CHECK-NEXT:    cs336.softmax
// CHECK-NEXT:    return
// REMARK: [Passed] Fused
func.func @reciprocal_of_sum(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %max = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %one = cs336.constant dense<1.0> : tensor<2x4xf32>
  %r = cs336.div %one, %t : tensor<2x4xf32>
  %tb = cs336.broadcast %r dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.mul %tb, %e : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @reciprocal_of_repeated_sum(
// CHECK-NEXT:    cs336.softmax
// CHECK-NEXT:    return
// REMARK: [Passed] Fused
func.func @reciprocal_of_repeated_sum(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %max = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %one = cs336.constant dense<1.0> : tensor<2x4x8xf32>
  %r = cs336.div %one, %tb : tensor<2x4x8xf32>
  %y = cs336.mul %e, %r : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// A quotient, a multiplication by a constant on the left, a positive factor after the mask: one scale.

// CHECK-LABEL: func @scales(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4x8xf32>, %[[M:.*]]: tensor<2x4x8xi1>)
// CHECK-NEXT:    cs336.softmax %[[X]] mask %[[M]] {scale = 1.500000e+00 : f64} : tensor<2x4x8xf32>, tensor<2x4x8xi1>
// CHECK-NEXT:    return
// REMARK: [Passed] Fused {{.*}}scaled by 1.5
func.func @scales(%x: tensor<2x4x8xf32>, %visible: tensor<2x4x8xi1>) -> tensor<2x4x8xf32> {
  %two = cs336.constant dense<2.0> : tensor<2x4x8xf32>
  %three = cs336.constant dense<3.0> : tensor<f32>
  %threes = cs336.broadcast %three dims = [] : tensor<f32> -> tensor<2x4x8xf32>
  %hidden = cs336.constant dense<0xFF800000> : tensor<2x4x8xf32>
  %half = cs336.div %x, %two : tensor<2x4x8xf32>
  %s = cs336.mul %threes, %half : tensor<2x4x8xf32>
  %w = cs336.select %visible, %s, %hidden : tensor<2x4x8xf32>
  %one = cs336.constant dense<1.0> : tensor<2x4x8xf32>
  %z = cs336.mul %w, %one : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// masked_fill(mask == 0, −∞): the opposite comparison, before it is repeated.

// CHECK-LABEL: func @hides_where_true(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4x8xf32>, %[[M:.*]]: tensor<2x8xi32>)
// CHECK:         %[[ZERO:.*]] = cs336.constant dense<0> : tensor<2x8xi32>
// CHECK:         %[[VISIBLE:.*]] = cs336.compare ne %[[M]], %[[ZERO]] : tensor<2x8xi32>
// CHECK-NEXT:    %[[MASK:.*]] = cs336.broadcast %[[VISIBLE]] dims = [0, 2] : tensor<2x8xi1> -> tensor<2x4x8xi1>
// CHECK-NEXT:    cs336.softmax %[[X]] mask %[[MASK]] : tensor<2x4x8xf32>, tensor<2x4x8xi1>
// REMARK: [Passed] Fused {{.*}}masked
func.func @hides_where_true(%x: tensor<2x4x8xf32>, %m: tensor<2x8xi32>) -> tensor<2x4x8xf32> {
  %zero = cs336.constant dense<0> : tensor<2x8xi32>
  %p = cs336.compare eq %m, %zero : tensor<2x8xi32>
  %hides = cs336.broadcast %p dims = [0, 2] : tensor<2x8xi1> -> tensor<2x4x8xi1>
  %hidden = cs336.constant dense<0xFF800000> : tensor<2x4x8xf32>
  %z = cs336.select %hides, %hidden, %x : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// A comparison of floats has no opposite, since NaN is neither: a mask that depends on data is negated as it is.

// CHECK-LABEL: func @hides_where_an_input_holds(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4x8xf32>, %[[M:.*]]: tensor<8xi1>)
// CHECK-DAG:     %[[NO:.*]] = cs336.constant dense<false> : tensor<8xi1>
// CHECK-DAG:     %[[YES:.*]] = cs336.constant dense<true> : tensor<8xi1>
// CHECK:         %[[VISIBLE:.*]] = cs336.select %[[M]], %[[NO]], %[[YES]] : tensor<8xi1>
// CHECK-NEXT:    cs336.softmax %[[X]] mask %[[VISIBLE]] : tensor<2x4x8xf32>, tensor<8xi1>
// REMARK: [Passed] Fused
func.func @hides_where_an_input_holds(%x: tensor<2x4x8xf32>, %m: tensor<8xi1>) -> tensor<2x4x8xf32> {
  %hides = cs336.broadcast %m dims = [2] : tensor<8xi1> -> tensor<2x4x8xi1>
  %hidden = cs336.constant dense<0xFF800000> : tensor<2x4x8xf32>
  %z = cs336.select %hides, %hidden, %x : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// A mask that is added: a constant of zeros and infinities.

// CHECK-LABEL: func @added_table(
// CHECK:         %[[VISIBLE:.*]] = cs336.constant dense<{{\[\[}}true, false], [true, true]]> : tensor<2x2xi1>
// CHECK-NEXT:    cs336.softmax %{{.*}} mask %[[VISIBLE]] : tensor<3x2x2xf32>, tensor<2x2xi1>
// CHECK-NEXT:    return
// REMARK: [Passed] Fused
func.func @added_table(%x: tensor<3x2x2xf32>) -> tensor<3x2x2xf32> {
  %table = cs336.constant dense<[[0.0, 0xFF800000], [0.0, -0.0]]> : tensor<2x2xf32>
  %c = cs336.broadcast %table dims = [1, 2] : tensor<2x2xf32> -> tensor<3x2x2xf32>
  %z = cs336.add %c, %x : tensor<3x2x2xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<3x2x2xf32> -> tensor<3x2xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<3x2xf32> -> tensor<3x2x2xf32>
  %d = cs336.sub %z, %mb : tensor<3x2x2xf32>
  %e = cs336.exp %d : tensor<3x2x2xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<3x2x2xf32> -> tensor<3x2xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<3x2xf32> -> tensor<3x2x2xf32>
  %y = cs336.div %e, %tb : tensor<3x2x2xf32>
  return %y : tensor<3x2x2xf32>
}

// -----

// A mask that hides nothing is dropped.

// CHECK-LABEL: func @added_zeros(
// CHECK-SAME:      %[[X:[a-z0-9]*]]:
// CHECK-NEXT:    cs336.softmax %[[X]] : tensor<2x4xf32>
// CHECK-NEXT:    return
// REMARK: [Passed] Fused
func.func @added_zeros(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %table = cs336.constant dense<0.0> : tensor<4xf32>
  %c = cs336.broadcast %table dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
  %z = cs336.add %c, %x : tensor<2x4xf32>
  %max = cs336.reduce max %z axes = [1] {stop_gradient} : tensor<2x4xf32> -> tensor<2xf32>
  %mb = cs336.broadcast %max dims = [0] : tensor<2xf32> -> tensor<2x4xf32>
  %d = cs336.sub %z, %mb : tensor<2x4xf32>
  %e = cs336.exp %d : tensor<2x4xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<2x4xf32> -> tensor<2xf32>
  %tb = cs336.broadcast %t dims = [0] : tensor<2xf32> -> tensor<2x4xf32>
  %y = cs336.div %e, %tb : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// A mask that is added, chosen by a predicate.

// CHECK-LABEL: func @added_choice(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4x8xf32>, %[[M:.*]]: tensor<4x8xi1>)
// CHECK-NEXT:    cs336.softmax %[[X]] mask %[[M]] : tensor<2x4x8xf32>, tensor<4x8xi1>
// CHECK-NEXT:    return
// REMARK: [Passed] Fused
func.func @added_choice(%x: tensor<2x4x8xf32>, %m: tensor<4x8xi1>) -> tensor<2x4x8xf32> {
  %zero = cs336.constant dense<0.0> : tensor<4x8xf32>
  %hidden = cs336.constant dense<0xFF800000> : tensor<4x8xf32>
  %b = cs336.select %m, %zero, %hidden : tensor<4x8xf32>
  %c = cs336.broadcast %b dims = [1, 2] : tensor<4x8xf32> -> tensor<2x4x8xf32>
  %z = cs336.add %x, %c : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// Scales and masks that stay before the softmax.

// CHECK-LABEL: func @scale_by_a_tensor(
// CHECK:         %[[Z:.*]] = cs336.mul
// CHECK-NEXT:    cs336.softmax %[[Z]] : tensor<2x4x8xf32>
// REMARK: [Missed] NotAbsorbed {{.*}}the scale before a softmax is not fused: it is not a constant splat
func.func @scale_by_a_tensor(%x: tensor<2x4x8xf32>, %c: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %z = cs336.mul %x, %c : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @scaled_scores_returned(
// CHECK:         %[[Z:.*]] = cs336.mul
// CHECK-NEXT:    %[[Y:.*]] = cs336.softmax %[[Z]] : tensor<2x4x8xf32>
// CHECK-NEXT:    return %[[Y]], %[[Z]]
// REMARK: [Missed] NotAbsorbed {{.*}}the scale {{.*}}: its result has other uses
func.func @scaled_scores_returned(%x: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %two = cs336.constant dense<2.0> : tensor<2x4x8xf32>
  %z = cs336.mul %x, %two : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y, %z : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @finite_mask(
// CHECK:         %[[Z:.*]] = cs336.select
// CHECK-NEXT:    cs336.softmax %[[Z]] : tensor<2x4x8xf32>
// REMARK: [Missed] NotAbsorbed {{.*}}the selection {{.*}}: its hidden scores are not negative infinity
func.func @finite_mask(%x: tensor<2x4x8xf32>, %m: tensor<2x4x8xi1>) -> tensor<2x4x8xf32> {
  %low = cs336.constant dense<-1.0e9> : tensor<2x4x8xf32>
  %z = cs336.select %m, %x, %low : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @negated_mask(
// CHECK:         %[[Z:.*]] = cs336.select
// CHECK-NEXT:    cs336.softmax %[[Z]] {scale = -2.000000e+00 : f64} : tensor<2x4x8xf32>
// REMARK: [Missed] NotAbsorbed {{.*}}the mask {{.*}}: a factor that is not positive follows it
func.func @negated_mask(%x: tensor<2x4x8xf32>, %m: tensor<2x4x8xi1>) -> tensor<2x4x8xf32> {
  %hidden = cs336.constant dense<0xFF800000> : tensor<2x4x8xf32>
  %two = cs336.constant dense<-2.0> : tensor<2x4x8xf32>
  %w = cs336.select %m, %x, %hidden : tensor<2x4x8xf32>
  %z = cs336.mul %w, %two : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @two_masks(
// CHECK:         %[[Z:.*]] = cs336.select
// CHECK-NEXT:    cs336.softmax %[[Z]] mask
// REMARK: [Missed] NotAbsorbed {{.*}}the mask {{.*}}: another mask follows it
func.func @two_masks(%x: tensor<2x4x8xf32>, %m: tensor<2x4x8xi1>, %n: tensor<2x4x8xi1>) -> tensor<2x4x8xf32> {
  %hidden = cs336.constant dense<0xFF800000> : tensor<2x4x8xf32>
  %w = cs336.select %m, %x, %hidden : tensor<2x4x8xf32>
  %z = cs336.select %n, %w, %hidden : tensor<2x4x8xf32>
  %max = cs336.reduce max %z axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %z, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// Programs that resemble a softmax. Over another axis:

// CHECK-LABEL: func @other_axis(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: the sum is not over the last axis, or not repeated along it"
func.func @other_axis(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %max = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %mb = cs336.broadcast %max dims = [0, 2] : tensor<2x8xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<2x4x8xf32> -> tensor<2x8xf32>
  %tb = cs336.broadcast %t dims = [0, 2] : tensor<2x8xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// Repeated along another axis, which is as long:

// CHECK-LABEL: func @other_direction(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: the sum is not over the last axis, or not repeated along it"
func.func @other_direction(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %max = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %mb = cs336.broadcast %max dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %mb : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %tb = cs336.broadcast %t dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  %y = cs336.div %e, %tb : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Maximum over another axis:

// CHECK-LABEL: func @other_maximum_axis(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: the maximum is not over the last axis, or not repeated along it"
func.func @other_maximum_axis(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %max = cs336.reduce max %x axes = [0] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %mb = cs336.broadcast %max dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %mb : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %tb = cs336.broadcast %t dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %y = cs336.div %e, %tb : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Without maximum:

// CHECK-LABEL: func @no_maximum(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: no maximum is subtracted right before the exponentials, which may overflow"
func.func @no_maximum(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %e = cs336.exp %x : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @other_maximum(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: the maximum of something else is subtracted"
func.func @other_maximum(%x: tensor<2x4x8xf32>, %w: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %max = cs336.reduce max %w axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @scaled_differences(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: no maximum is subtracted right before the exponentials, which may overflow"
func.func @scaled_differences(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %max = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %c = cs336.constant dense<2.0> : tensor<2x4x8xf32>
  %s = cs336.mul %d, %c : tensor<2x4x8xf32>
  %e = cs336.exp %s : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @other_sum(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: the exponentials are divided by the sum of something else"
func.func @other_sum(%x: tensor<2x4x8xf32>, %w: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %max = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %w axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// An intermediate value has other uses:

// CHECK-LABEL: func @exponentials_returned(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: its exponentials are used elsewhere too"
func.func @exponentials_returned(%x: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %max = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y, %e : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @differences_returned(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: its differences to the maximum are used elsewhere too"
func.func @differences_returned(%x: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %max = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y, %d : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @maximum_returned(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: its maximum is used elsewhere too"
func.func @maximum_returned(%x: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>) {
  %max = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y, %max : tensor<2x4x8xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func @sum_returned(
// CHECK-NOT:     cs336.softmax
// CHECK:         return
// REMARK: [Missed] NotFused {{.*}}"not fused as a softmax: its sum is used elsewhere too"
func.func @sum_returned(%x: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>) {
  %max = cs336.reduce max %x axes = [2] {stop_gradient} : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %mb = cs336.broadcast %max dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %d = cs336.sub %x, %mb : tensor<2x4x8xf32>
  %e = cs336.exp %d : tensor<2x4x8xf32>
  %t = cs336.reduce sum %e axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %e, %tb : tensor<2x4x8xf32>
  return %y, %t : tensor<2x4x8xf32>, tensor<2x4xf32>
}

// -----

// A sum of anything else divided into it is no softmax and needs no remark.

// CHECK-LABEL: func @normalised(
// CHECK:         cs336.div
// REMARK-NOT: NotFused
func.func @normalised(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %t = cs336.reduce sum %x axes = [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %tb = cs336.broadcast %t dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x8xf32>
  %y = cs336.div %x, %tb : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// A splat is one number, whatever the number of its elements: 2^40 here, which nothing can look at one by one.

// CHECK-LABEL: func @splat_that_hides(
// CHECK:         %[[HIDDEN:.*]] = cs336.constant dense<false> : tensor<1048576x1048576xi1>
// CHECK-NEXT:    cs336.softmax %{{.*}} mask %[[HIDDEN]]
func.func @splat_that_hides(%x: tensor<1048576x1048576xf32>) -> tensor<1048576x1048576xf32> {
  %c = cs336.constant dense<0xFF800000> : tensor<1048576x1048576xf32>
  %z = cs336.add %x, %c : tensor<1048576x1048576xf32>
  %max = cs336.reduce max %z axes = [1] {stop_gradient} : tensor<1048576x1048576xf32> -> tensor<1048576xf32>
  %mb = cs336.broadcast %max dims = [0] : tensor<1048576xf32> -> tensor<1048576x1048576xf32>
  %d = cs336.sub %z, %mb : tensor<1048576x1048576xf32>
  %e = cs336.exp %d : tensor<1048576x1048576xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<1048576x1048576xf32> -> tensor<1048576xf32>
  %tb = cs336.broadcast %t dims = [0] : tensor<1048576xf32> -> tensor<1048576x1048576xf32>
  %y = cs336.div %e, %tb : tensor<1048576x1048576xf32>
  return %y : tensor<1048576x1048576xf32>
}

// -----

// Neither 0 nor -infinity: not a mask.

// CHECK-LABEL: func @splat_that_adds(
// CHECK:         %[[Z:.*]] = cs336.add
// CHECK-NEXT:    cs336.softmax %[[Z]] : tensor<1048576x1048576xf32>
func.func @splat_that_adds(%x: tensor<1048576x1048576xf32>) -> tensor<1048576x1048576xf32> {
  %c = cs336.constant dense<5.000000e-01> : tensor<1048576x1048576xf32>
  %z = cs336.add %x, %c : tensor<1048576x1048576xf32>
  %max = cs336.reduce max %z axes = [1] {stop_gradient} : tensor<1048576x1048576xf32> -> tensor<1048576xf32>
  %mb = cs336.broadcast %max dims = [0] : tensor<1048576xf32> -> tensor<1048576x1048576xf32>
  %d = cs336.sub %z, %mb : tensor<1048576x1048576xf32>
  %e = cs336.exp %d : tensor<1048576x1048576xf32>
  %t = cs336.reduce sum %e axes = [1] : tensor<1048576x1048576xf32> -> tensor<1048576xf32>
  %tb = cs336.broadcast %t dims = [0] : tensor<1048576xf32> -> tensor<1048576x1048576xf32>
  %y = cs336.div %e, %tb : tensor<1048576x1048576xf32>
  return %y : tensor<1048576x1048576xf32>
}
