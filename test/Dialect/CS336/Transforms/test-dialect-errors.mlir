// An operation without interfaces is rejected where one is needed, and kept elsewhere.

// RUN: cs336-opt-test %s --cs336-differentiate --verify-diagnostics
// RUN: cs336-opt-test %s --cs336-autocast --cs336-merge-gemms --cs336-decompose --cs336-hoist-invariants --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt-test %s --cs336-print-cost -o /dev/null 2>&1 | FileCheck %s --check-prefix=COST

// COST: 1 operations without a cost

func.func @train(%w: tensor<8x6xf32> {cs336.kind = "parameter", cs336.name = "w"}, %x: tensor<4x6xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  // CHECK: %[[Y:.*]] = cs336.matmul {{.*}} -> tensor<4x8xbf16>
  // CHECK: %[[BACK:.*]] = cs336.cast %[[Y]] : tensor<4x8xbf16> -> tensor<4x8xf32>
  // CHECK: cs336_test.opaque %[[BACK]] : tensor<4x8xf32>
  %0 = cs336.linear %x, %w : tensor<4x6xf32>, tensor<8x6xf32> -> tensor<4x8xf32>
  // expected-error@+1 {{'cs336_test.opaque' op is between parameter 'w' and the loss, but has no adjoint}}
  %1 = cs336_test.opaque %0 : tensor<4x8xf32>
  %loss = cs336.reduce sum %1 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
