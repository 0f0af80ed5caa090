// Local algebra, and what must not be folded because a rounding or a sign would be lost.

// RUN: cs336-opt %s --canonicalize --mlir-print-debuginfo=false | FileCheck %s

// CHECK-LABEL: @identities
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @identities(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = cs336.constant dense<0.0> : tensor<4xf32>
  %minus_zero = cs336.constant dense<-0.0> : tensor<4xf32>
  %one = cs336.constant dense<1.0> : tensor<4xf32>
  %0 = cs336.add %minus_zero, %x : tensor<4xf32>
  %1 = cs336.sub %x, %zero : tensor<4xf32>
  %2 = cs336.mul %one, %x : tensor<4xf32>
  %3 = cs336.div %x, %one : tensor<4xf32>
  %4 = cs336.neg %x : tensor<4xf32>
  %5 = cs336.neg %4 : tensor<4xf32>
  %6 = cs336.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
  %7 = cs336.reshape %6 : tensor<2x2xf32> -> tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
  return %0, %1, %2, %3, %5, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// x + 0 is 0, not −0, for x = −0; 0·x is NaN for x = ∞.
// CHECK-LABEL: @not_identities
func.func @not_identities(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = cs336.constant dense<0.0> : tensor<4xf32>
  // CHECK: cs336.add
  // CHECK: cs336.mul
  %0 = cs336.add %x, %zero : tensor<4xf32>
  %1 = cs336.mul %x, %zero : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @splats
func.func @splats() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<2x4xf32>, tensor<4xbf16>) {
  // CHECK-DAG: dense<5.000000e+00> : tensor<4xf32>
  // CHECK-DAG: dense<1.500000e+00> : tensor<4xf32>
  // CHECK-DAG: dense<-2.000000e+00> : tensor<4xf32>
  // CHECK-DAG: dense<5> : tensor<4xi64>
  // CHECK-DAG: dense<2.000000e+00> : tensor<2x4xf32>
  // CHECK-DAG: dense<1.000980e-01> : tensor<4xbf16>
  // CHECK-NOT: cs336.add
  %two = cs336.constant dense<2.0> : tensor<4xf32>
  %three = cs336.constant dense<3.0> : tensor<4xf32>
  %itwo = cs336.constant dense<2> : tensor<4xi64>
  %ithree = cs336.constant dense<3> : tensor<4xi64>
  %tenth = cs336.constant dense<0.1> : tensor<4xf32>
  %0 = cs336.add %two, %three : tensor<4xf32>
  %1 = cs336.div %three, %two : tensor<4xf32>
  %2 = cs336.neg %two : tensor<4xf32>
  %3 = cs336.add %itwo, %ithree : tensor<4xi64>
  %4 = cs336.broadcast %two dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
  %5 = cs336.cast %tenth : tensor<4xf32> -> tensor<4xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<2x4xf32>, tensor<4xbf16>
}

// CHECK-LABEL: @select
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xi1>)
func.func @select(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %true = cs336.constant dense<true> : tensor<4xi1>
  %false = cs336.constant dense<false> : tensor<4xi1>
  %0 = cs336.select %true, %x, %y : tensor<4xf32>
  %1 = cs336.select %false, %x, %y : tensor<4xf32>
  %2 = cs336.select %p, %y, %y : tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[Y]], %[[Y]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @logic
// CHECK-SAME: (%[[P:.*]]: tensor<3xi1>)
func.func @logic(%p: tensor<3xi1>) -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>) {
  // CHECK-DAG: %[[TRUE:.*]] = cs336.constant dense<true> : tensor<3xi1>
  // CHECK-DAG: %[[FALSE:.*]] = cs336.constant dense<false> : tensor<3xi1>
  %true = cs336.constant dense<true> : tensor<3xi1>
  %false = cs336.constant dense<false> : tensor<3xi1>
  %0 = cs336.and %true, %p : tensor<3xi1>
  %1 = cs336.and %p, %false : tensor<3xi1>
  %2 = cs336.and %p, %p : tensor<3xi1>
  %3 = cs336.or %p, %true : tensor<3xi1>
  %4 = cs336.or %false, %p : tensor<3xi1>
  %5 = cs336.or %p, %p : tensor<3xi1>
  %n = cs336.not %p : tensor<3xi1>
  %6 = cs336.not %n : tensor<3xi1>
  // CHECK: return %[[P]], %[[FALSE]], %[[P]], %[[TRUE]], %[[P]], %[[P]], %[[P]]
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
}

// CHECK-LABEL: @logic_of_tables
func.func @logic_of_tables() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %p = cs336.constant dense<[true, true, false, false]> : tensor<4xi1>
  %q = cs336.constant dense<[true, false, true, false]> : tensor<4xi1>
  %0 = cs336.and %p, %q : tensor<4xi1>
  %1 = cs336.or %p, %q : tensor<4xi1>
  %2 = cs336.not %p : tensor<4xi1>
  // CHECK-DAG: %[[AND:.*]] = cs336.constant dense<[true, false, false, false]>
  // CHECK-DAG: %[[OR:.*]] = cs336.constant dense<[true, true, true, false]>
  // CHECK-DAG: %[[NOT:.*]] = cs336.constant dense<[false, false, true, true]>
  // CHECK: return %[[AND]], %[[OR]], %[[NOT]]
  return %0, %1, %2 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// A truncation rounds; the extension after it does not restore the digits.
// CHECK-LABEL: @truncation_stays
func.func @truncation_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[LOW:.*]] = cs336.cast %{{.*}} : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: cs336.cast %[[LOW]] : tensor<4xbf16> -> tensor<4xf32>
  %0 = cs336.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %1 = cs336.cast %0 : tensor<4xbf16> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// bf16 and f16 hold different numbers, so neither extends the other.
// CHECK-LABEL: @unlike_types_stay
func.func @unlike_types_stay(%x: tensor<4xbf16>) -> tensor<4xf32> {
  // CHECK: cs336.cast %{{.*}} : tensor<4xbf16> -> tensor<4xf16>
  // CHECK: cs336.cast %{{.*}} : tensor<4xf16> -> tensor<4xf32>
  %0 = cs336.cast %x : tensor<4xbf16> -> tensor<4xf16>
  %1 = cs336.cast %0 : tensor<4xf16> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @extension_goes
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>)
func.func @extension_goes(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xf64>) {
  // CHECK: %[[WIDE:.*]] = cs336.cast %[[X]] : tensor<4xbf16> -> tensor<4xf64>
  // CHECK: return %[[X]], %[[WIDE]]
  %0 = cs336.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %1 = cs336.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = cs336.cast %0 : tensor<4xf32> -> tensor<4xf64>
  return %1, %2 : tensor<4xbf16>, tensor<4xf64>
}

// CHECK-LABEL: @layout
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @layout(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x3x2xf32>, tensor<2x3x4xf32>) {
  // CHECK: %[[T:.*]] = cs336.transpose %[[X]] perm = [2, 1, 0]
  // CHECK: return %[[X]], %[[T]], %[[X]]
  %0 = cs336.transpose %x perm = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = cs336.transpose %0 perm = [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  %2 = cs336.transpose %0 perm = [0, 2, 1] : tensor<4x2x3xf32> -> tensor<4x3x2xf32>
  %3 = cs336.slice %x offsets = [0, 0, 0] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %4 = cs336.pad %3 offsets = [0, 0, 0] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %5 = cs336.concat axis = 1 %4 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return %1, %2, %5 : tensor<2x3x4xf32>, tensor<4x3x2xf32>, tensor<2x3x4xf32>
}
