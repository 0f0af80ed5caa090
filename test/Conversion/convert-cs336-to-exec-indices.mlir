// Checks of indices become commands, on dense buffers.
// RUN: cs336-opt %s --convert-cs336-to-exec --mlir-print-debuginfo=false | FileCheck %s
// RUN: not cs336-opt %S/Inputs/unbounded-indices.mlir --convert-cs336-to-exec 2>&1 | FileCheck %s --check-prefix=UNBOUNDED

// UNBOUNDED: error: {{.*}}'exec.launch' op runs @{{.*}}, where 'cs336.embedding' indexes the 97 rows of its table with input "ids", which has no bound: write bound = 97

// CHECK-LABEL: exec.entry @forward
// CHECK-DAG: %[[TABLE:.*]] = exec.get @table
// CHECK-DAG: %[[IDS:.*]] = exec.get @ids : memref<3x2xi64>
// CHECK: %[[VIEW:.*]] = exec.view %[[IDS]] : memref<3x2xi64> to memref<2x3xi64, strided<[1, 2]>>
// CHECK: exec.copy ins(%[[VIEW]] {{.*}}) outs(%[[DENSE:.*]] : memref<2x3xi64>)
// CHECK: exec.check_bound ins(%[[DENSE]] : memref<2x3xi64>) outs(%[[CHECKED:.*]] : memref<2x3xi64>) bound = 97
// CHECK: exec.launch @{{.*}} ins(%[[TABLE]], %[[CHECKED]] :
func.func @forward(%table: tensor<97x4xf32> {cs336.kind = "parameter", cs336.name = "table"},
                   %ids: tensor<3x2xi64> {cs336.kind = "state", cs336.name = "ids"})
    -> (tensor<2x3x4xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %transposed = cs336.transpose %ids perm = [1, 0] : tensor<3x2xi64> -> tensor<2x3xi64>
  %checked = cs336.check_bound %transposed bound = 97 : tensor<2x3xi64>
  %y = cs336.embedding %table, %checked : tensor<97x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}
