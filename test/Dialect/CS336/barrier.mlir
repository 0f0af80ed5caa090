// A barrier keeps what is computed from its result apart from what is computed from its operand, and runs as a view.

// RUN: cs336-opt %s --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --mlir-print-op-generic | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --canonicalize --cse --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-autocast=dtype=bf16 --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-pipeline --mlir-print-debuginfo=false | FileCheck %s --check-prefix=EXEC

// CHECK-LABEL: func @apart(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>
// CHECK:         %[[A:.*]] = cs336.barrier %[[X]] : tensor<4x8xf32>
// CHECK-NEXT:    %[[B:.*]] = cs336.barrier %[[X]] : tensor<4x8xf32>
// CHECK-NEXT:    %[[E:.*]] = cs336.exp %[[X]]
// CHECK-NEXT:    %[[EA:.*]] = cs336.exp %[[A]]
// CHECK-NEXT:    %[[EB:.*]] = cs336.exp %[[B]]
// CHECK-NEXT:    return %[[E]], %[[EA]], %[[EB]]

// EXEC-LABEL: exec.entry @apart
// EXEC-NOT:     exec.copy
// EXEC-COUNT-3: exec.launch @exp
// EXEC-NOT:     exec.copy
// EXEC:       exec.entry @unused
func.func @apart(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = cs336.barrier %x : tensor<4x8xf32>
  %b = cs336.barrier %x : tensor<4x8xf32>
  %e = cs336.exp %x : tensor<4x8xf32>
  %ea = cs336.exp %a : tensor<4x8xf32>
  %eb = cs336.exp %b : tensor<4x8xf32>
  return %e, %ea, %eb : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A barrier without users is erased.
// EXEC-NOT: cs336.barrier
func.func @unused(%x: tensor<4xi1>) -> tensor<4xi1> {
  %a = cs336.barrier %x : tensor<4xi1>
  return %x : tensor<4xi1>
}
