// Launches whose indices are in bounds; check_bound in the dialect's syntax.
// RUN: cs336-opt %s | cs336-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --exec-plan-memory -o %t.planned && cs336-opt %t.planned -o /dev/null

exec.variable @table parameter : memref<97x4xf32>
exec.variable @state state : memref<3xi64>
exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>) : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.kernel @next(%ids: tensor<3xi64>) : (memref<3xi64>) -> memref<3xi64> {
  %one = cs336.constant dense<1> : tensor<3xi64>
  %0 = cs336.add %ids, %one : tensor<3xi64>
  exec.yield %0 : tensor<3xi64>
}

// CHECK-LABEL: exec.entry @forward
exec.entry @forward mode<forward> {
  %table = exec.get @table : memref<97x4xf32>
  %state = exec.get @state : memref<3xi64>
  %ids = exec.input "ids" bound = 96 : memref<2x3xi64>
  %a = exec.output "a" output : memref<3x4xf32>
  %b = exec.output "b" output : memref<3x4xf32>
  %c = exec.output "c" output : memref<3x4xf32>
  // By the bound of an input, of which a view is a part.
  %row = exec.view %ids : memref<2x3xi64> to memref<3xi64, strided<[1], offset: 3>>
  exec.launch @rows ins(%table, %row : memref<97x4xf32>, memref<3xi64, strided<[1], offset: 3>>) outs(%a : memref<3x4xf32>)
  // By the commands that computed and copied them.
  %sum = exec.alloc : memref<3xi64>
  exec.launch @next ins(%row : memref<3xi64, strided<[1], offset: 3>>) outs(%sum : memref<3xi64>)
  %copy = exec.alloc : memref<3xi64>
  exec.copy ins(%sum : memref<3xi64>) outs(%copy : memref<3xi64>)
  exec.launch @rows ins(%table, %copy : memref<97x4xf32>, memref<3xi64>) outs(%b : memref<3x4xf32>)
  // Because they have been checked.
  // CHECK: exec.check_bound ins(%[[STATE:.*]] : memref<3xi64>) outs(%[[CHECKED:.*]] : memref<3xi64>) bound = 97{{$}}
  %checked = exec.alloc : memref<3xi64>
  exec.check_bound ins(%state : memref<3xi64>) outs(%checked : memref<3xi64>) bound = 97
  exec.launch @rows ins(%table, %checked : memref<97x4xf32>, memref<3xi64>) outs(%c : memref<3x4xf32>)
}

// CHECK-LABEL: exec.entry @stream
exec.entry @stream mode<forward> {
  %ids = exec.input "ids" : memref<6xi32>
  %part = exec.view %ids : memref<6xi32> to memref<3xi32, strided<[1], offset: 3>>
  %y = exec.output "y" output : memref<3xi32>
  // CHECK: exec.check_bound {{.*}} bound = 5 {stream = 1 : i64}
  exec.check_bound ins(%part : memref<3xi32, strided<[1], offset: 3>>) outs(%y : memref<3xi32>) bound = 5 {stream = 1 : i64}
}
