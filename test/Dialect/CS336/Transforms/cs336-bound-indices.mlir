// Which indices are in bounds, and which are checked as the program runs.
// RUN: cs336-opt %s --cs336-bound-indices --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-bound-indices -o %t.once && cs336-opt %t.once --cs336-bound-indices | diff %t.once -
// RUN: cs336-opt %s --cs336-bound-indices --pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNTS

// COUNTS: cs336-bound-indices num-bounded {{ *}}3 {{.*}}
// COUNTS: cs336-bound-indices num-proved {{ *}}14 {{.*}}
// COUNTS: cs336-bound-indices num-checked {{ *}}9 {{.*}}

!table = tensor<97x4xf32>
!ids = tensor<2x3xi64>
!rows = tensor<2x3x4xf32>

// A bound that is small enough stays.
// CHECK-LABEL: func.func @bounded(
// CHECK-SAME: cs336.bound = 90 : i64
// CHECK-NOT: check_bound
func.func @bounded(%table: !table, %ids: !ids {cs336.kind = "input", cs336.name = "ids", cs336.bound = 90 : i64}) -> !rows {
  %x = cs336.embedding %table, %ids : !table, !ids -> !rows
  return %x : !rows
}

// An input without one gets the least that all uses need, whatever the layout in which they read all of it.
// CHECK-LABEL: func.func @unbounded(
// CHECK-SAME: %arg1: tensor<2x3xi64> {cs336.bound = 50 : i64
// CHECK-NOT: check_bound
func.func @unbounded(%table: !table, %ids: !ids {cs336.kind = "input", cs336.name = "ids"}, %small: tensor<50x4xf32>)
    -> (!rows, tensor<6x4xf32>, tensor<7x6x4xf32>) {
  %x = cs336.embedding %table, %ids : !table, !ids -> !rows
  %flat = cs336.reshape %ids : !ids -> tensor<6xi64>
  %y = cs336.embedding %small, %flat : tensor<50x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
  %again = cs336.broadcast %flat dims = [1] : tensor<6xi64> -> tensor<7x6xi64>
  %z = cs336.embedding %table, %again : !table, tensor<7x6xi64> -> tensor<7x6x4xf32>
  return %x, %y, %z : !rows, tensor<6x4xf32>, tensor<7x6x4xf32>
}

// CHECK-LABEL: func.func @targets(
// CHECK-SAME: %arg1: tensor<2xi32> {cs336.bound = 5 : i64
func.func @targets(%logits: tensor<2x5xf32>, %targets: tensor<2xi32> {cs336.kind = "input", cs336.name = "t"}) -> tensor<f32> {
  %loss = cs336.cross_entropy %logits, %targets : tensor<2x5xf32>, tensor<2xi32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %arg0: tensor<2x3xi64> {cs336.bound = 97 : i64
func.func @gradient(%ids: !ids {cs336.kind = "input", cs336.name = "ids"}, %g: !rows) -> !table {
  %y = cs336.embedding_grad %ids, %g : !ids, !rows -> !table
  return %y : !table
}

// If a part of an input is used as indices, the rest may have any value.
// CHECK-LABEL: func.func @part(
// CHECK-SAME: %arg1: tensor<2x3xi64> {cs336.kind
// CHECK: %[[PART:.*]] = cs336.slice
// CHECK: %[[CHECKED:.*]] = cs336.check_bound %[[PART]] bound = 97 : tensor<1x3xi64>
// CHECK: cs336.embedding %{{.*}}, %[[CHECKED]]
func.func @part(%table: !table, %ids: !ids {cs336.kind = "input", cs336.name = "ids"}) -> tensor<1x3x4xf32> {
  %part = cs336.slice %ids offsets = [1, 0] : !ids -> tensor<1x3xi64>
  %x = cs336.embedding %table, %part : !table, tensor<1x3xi64> -> tensor<1x3x4xf32>
  return %x : tensor<1x3x4xf32>
}

// Variables have no bound; one check serves all that need it.
// CHECK-LABEL: func.func @variables(
// CHECK: %[[CHECKED:.*]] = cs336.check_bound %arg1 bound = 97 : tensor<2x3xi64>
// CHECK: cs336.embedding %arg0, %[[CHECKED]]
// CHECK: cs336.embedding %arg2, %[[CHECKED]]
// CHECK: %[[LESS:.*]] = cs336.check_bound %arg1 bound = 96
// CHECK: cs336.embedding %arg3, %[[LESS]]
func.func @variables(%a: !table, %ids: !ids {cs336.kind = "state", cs336.name = "ids"}, %b: !table,
                     %c: tensor<96x4xf32>) -> (!rows, !rows, !rows) {
  %x = cs336.embedding %a, %ids : !table, !ids -> !rows
  %y = cs336.embedding %b, %ids : !table, !ids -> !rows
  %z = cs336.embedding %c, %ids : tensor<96x4xf32>, !ids -> !rows
  return %x, %y, %z : !rows, !rows, !rows
}

// Ranges of operations on integers with known ranges.
// CHECK-LABEL: func.func @proved(
// CHECK-NOT: check_bound
// CHECK: return
func.func @proved(%table: !table, %ids: tensor<6xi64> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 40 : i64},
                  %any: tensor<6xi32> {cs336.kind = "input", cs336.name = "any"}, %p: tensor<6xi1>)
    -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<12x4xf32>, tensor<8x4xf32>, tensor<4xf32>) {
  // Positions, and arithmetic that stays below 97: 2·39 + 5.
  %iota = cs336.iota axis = 0 : tensor<6xi64>
  %twice = cs336.add %ids, %ids : tensor<6xi64>
  %sum = cs336.add %twice, %iota : tensor<6xi64>
  %0 = cs336.embedding %table, %sum : !table, tensor<6xi64> -> tensor<6x4xf32>
  // Clamped, and widened.
  %zero = cs336.constant dense<0> : tensor<6xi32>
  %last = cs336.constant dense<[96, 95, 94, 93, 92, 91]> : tensor<6xi32>
  %above = cs336.max %any, %zero : tensor<6xi32>
  %clamped = cs336.min %last, %above : tensor<6xi32>
  %wide = cs336.cast %clamped : tensor<6xi32> -> tensor<6xi64>
  %1 = cs336.embedding %table, %clamped : !table, tensor<6xi32> -> tensor<6x4xf32>
  // Either of two, by any predicate; a predicate as a number.
  %bit = cs336.cast %p : tensor<6xi1> -> tensor<6xi64>
  %test = cs336.compare gt %any, %zero : tensor<6xi32>
  %choice = cs336.select %test, %wide, %bit : tensor<6xi64>
  %2 = cs336.embedding %table, %choice : !table, tensor<6xi64> -> tensor<6x4xf32>
  // The other way round: 95 − 2·39 .. 95.
  %most = cs336.constant dense<95> : tensor<6xi64>
  %reversed = cs336.sub %most, %twice : tensor<6xi64>
  %3 = cs336.embedding %table, %reversed : !table, tensor<6xi64> -> tensor<6x4xf32>
  // Parts, zeros, one after the other.
  %both = cs336.concat axis = 0 %reversed, %bit : tensor<6xi64>, tensor<6xi64> -> tensor<12xi64>
  %4 = cs336.embedding %table, %both : !table, tensor<12xi64> -> tensor<12x4xf32>
  %padded = cs336.pad %reversed offsets = [1] : tensor<6xi64> -> tensor<8xi64>
  %5 = cs336.embedding %table, %padded : !table, tensor<8xi64> -> tensor<8x4xf32>
  // 6·1 at most.
  %count = cs336.reduce sum %bit axes = [0] : tensor<6xi64> -> tensor<i64>
  %6 = cs336.embedding %table, %count : !table, tensor<i64> -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<12x4xf32>, tensor<8x4xf32>, tensor<4xf32>
}

// Integers without a bound: a sum that may reach 97, one that may wrap around, the sign that a narrowing may change, and a
// conversion of floating-point numbers, which no clamping makes an integer.
// CHECK-LABEL: func.func @checked(
// CHECK-COUNT-4: cs336.check_bound
// CHECK-NOT: cs336.check_bound
func.func @checked(%table: !table, %ids: tensor<6xi64> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 97 : i64},
                   %wide: tensor<6xi64> {cs336.kind = "input", cs336.name = "wide", cs336.bound = 9223372036854775807 : i64},
                   %x: tensor<6xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) {
  %one = cs336.constant dense<1> : tensor<6xi64>
  %next = cs336.add %ids, %one : tensor<6xi64>
  %0 = cs336.embedding %table, %next : !table, tensor<6xi64> -> tensor<6x4xf32>
  %last = cs336.constant dense<96> : tensor<6xi64>
  %sum = cs336.add %wide, %wide : tensor<6xi64>
  %below = cs336.min %sum, %last : tensor<6xi64>
  %1 = cs336.embedding %table, %below : !table, tensor<6xi64> -> tensor<6x4xf32>
  %narrow = cs336.cast %wide : tensor<6xi64> -> tensor<6xi32>
  %2 = cs336.embedding %table, %narrow : !table, tensor<6xi32> -> tensor<6x4xf32>
  %converted = cs336.cast %x : tensor<6xf32> -> tensor<6xi64>
  %zero = cs336.constant dense<0> : tensor<6xi64>
  %above = cs336.max %converted, %zero : tensor<6xi64>
  %clamped = cs336.min %above, %last : tensor<6xi64>
  %3 = cs336.embedding %table, %clamped : !table, tensor<6xi64> -> tensor<6x4xf32>
  return %0, %1, %2, %3 : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}

// A group's operand is checked before the group.
// CHECK-LABEL: func.func @group(
// CHECK: %[[CHECKED:.*]] = cs336.check_bound %arg1 bound = 97
// CHECK: cs336.fused(%arg0, %[[CHECKED]])
func.func @group(%table: !table, %ids: !ids {cs336.kind = "state", cs336.name = "ids"}) -> !rows {
  %y = cs336.fused(%table, %ids) {
  ^bb0(%t: !table, %i: !ids):
    %x = cs336.embedding %t, %i : !table, !ids -> !rows
    cs336.yield %x : !rows
  } : (!table, !ids) -> !rows
  return %y : !rows
}

// A splat has one element to look at, however many it stands for.
// CHECK-LABEL: func.func @splat(
// CHECK-NOT: check_bound
func.func @splat(%table: tensor<97x1xf32>) -> tensor<268435456x1xf32> {
  %ids = cs336.constant dense<96> : tensor<268435456xi64>
  %x = cs336.embedding %table, %ids : tensor<97x1xf32>, tensor<268435456xi64> -> tensor<268435456x1xf32>
  return %x : tensor<268435456x1xf32>
}
