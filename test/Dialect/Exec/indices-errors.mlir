// Launches whose indices nothing bounds, and wrong checks.
// RUN: cs336-opt %s --split-input-file --verify-diagnostics

exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>) : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  // expected-note@below {{the indices are used here}}
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.entry @f mode<forward> {
  %table = exec.input "table" : memref<97x4xf32>
  %ids = exec.input "ids" : memref<3xi64>
  %y = exec.output "y" output : memref<3x4xf32>
  // expected-error@below {{'exec.launch' op runs @rows, where 'cs336.embedding' indexes the 97 rows of its table with input "ids", which has no bound: write bound = 97}}
  exec.launch @rows ins(%table, %ids : memref<97x4xf32>, memref<3xi64>) outs(%y : memref<3x4xf32>)
}

// -----

exec.kernel @add(%ids: tensor<3xi64>, %g: tensor<3x4xf32>) : (memref<3xi64>, memref<3x4xf32>) -> memref<97x4xf32> {
  // expected-note@below {{the indices are used here}}
  %0 = cs336.embedding_grad %ids, %g : tensor<3xi64>, tensor<3x4xf32> -> tensor<97x4xf32>
  exec.yield %0 : tensor<97x4xf32>
}
exec.entry @f mode<forward> {
  %g = exec.input "g" : memref<3x4xf32>
  %ids = exec.input "ids" bound = 98 : memref<3xi64>
  %y = exec.output "y" output : memref<97x4xf32>
  // expected-error@below {{'cs336.embedding_grad' indexes the 97 rows of its result with input "ids", whose bound is 98: write bound = 97}}
  exec.launch @add ins(%ids, %g : memref<3xi64>, memref<3x4xf32>) outs(%y : memref<97x4xf32>)
}

// -----

// A variable can hold any value, also one within this entry's bounds.
exec.variable @ids state : memref<3xi64>
exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>) : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  // expected-note@below {{the indices are used here}}
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.entry @f mode<forward> {
  %table = exec.input "table" : memref<97x4xf32>
  %ids = exec.get @ids : memref<3xi64>
  %y = exec.output "y" output : memref<3x4xf32>
  // expected-error@below {{with integers without a bound: check them with exec.check_bound}}
  exec.launch @rows ins(%table, %ids : memref<97x4xf32>, memref<3xi64>) outs(%y : memref<3x4xf32>)
}

// -----

// Checked against a larger table.
exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>) : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  // expected-note@below {{the indices are used here}}
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.entry @f mode<forward> {
  %table = exec.input "table" : memref<97x4xf32>
  %ids = exec.input "ids" : memref<3xi64>
  %y = exec.output "y" output : memref<3x4xf32>
  %checked = exec.alloc : memref<3xi64>
  exec.check_bound ins(%ids : memref<3xi64>) outs(%checked : memref<3xi64>) bound = 98
  // expected-error@below {{with integers without a bound}}
  exec.launch @rows ins(%table, %checked : memref<97x4xf32>, memref<3xi64>) outs(%y : memref<3x4xf32>)
}

// -----

// Checking a part does not check the rest.
exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>) : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  // expected-note@below {{the indices are used here}}
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.entry @f mode<forward> {
  %table = exec.input "table" : memref<97x4xf32>
  %ids = exec.input "ids" : memref<3xi64>
  %y = exec.output "y" output : memref<3x4xf32>
  %all = exec.alloc : memref<3xi64>
  %two = exec.view %all : memref<3xi64> to memref<2xi64>
  %given = exec.view %ids : memref<3xi64> to memref<2xi64>
  exec.check_bound ins(%given : memref<2xi64>) outs(%two : memref<2xi64>) bound = 97
  // expected-error@below {{with integers without a bound}}
  exec.launch @rows ins(%table, %all : memref<97x4xf32>, memref<3xi64>) outs(%y : memref<3x4xf32>)
}

// -----

// Checked indices are overwritten by another buffer at the same offset of the arena.
exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>) : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  // expected-note@below {{the indices are used here}}
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.entry @f mode<forward> arena_bytes = 256 alignment = 64 {
  %table = exec.input "table" : memref<97x4xf32>
  %ids = exec.input "ids" : memref<3xi64>
  %x = exec.input "x" : memref<3xf64>
  %y = exec.output "y" output offset = 128 : memref<3x4xf32>
  %checked = exec.alloc offset = 0 : memref<3xi64>
  %other = exec.alloc offset = 16 : memref<3xf64>
  exec.check_bound ins(%ids : memref<3xi64>) outs(%checked : memref<3xi64>) bound = 97
  exec.copy ins(%x : memref<3xf64>) outs(%other : memref<3xf64>)
  // expected-error@below {{with integers without a bound}}
  exec.launch @rows ins(%table, %checked : memref<97x4xf32>, memref<3xi64>) outs(%y : memref<3x4xf32>)
}

// -----

// The launch itself writes over the indices that it reads.
exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>) : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  // expected-note@below {{the indices are used here}}
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.entry @f mode<forward> arena_bytes = 256 alignment = 64 {
  %table = exec.input "table" : memref<97x4xf32>
  %ids = exec.input "ids" : memref<3xi64>
  %y = exec.output "y" output offset = 8 : memref<3x4xf32>
  %checked = exec.alloc offset = 0 : memref<3xi64>
  exec.check_bound ins(%ids : memref<3xi64>) outs(%checked : memref<3xi64>) bound = 97
  // expected-error@below {{with integers without a bound}}
  exec.launch @rows ins(%table, %checked : memref<97x4xf32>, memref<3xi64>) outs(%y : memref<3x4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %ids = exec.input "ids" : memref<3xi64>
  %y = exec.output "y" output : memref<3xi64>
  // expected-error@below {{bound must be at least 1, is 0}}
  exec.check_bound ins(%ids : memref<3xi64>) outs(%y : memref<3xi64>) bound = 0
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<3xf32>
  %y = exec.output "y" output : memref<3xf32>
  // expected-error@below {{checks integers of 32 or 64 bits, has 'memref<3xf32>'}}
  exec.check_bound ins(%x : memref<3xf32>) outs(%y : memref<3xf32>) bound = 5
}

// -----

exec.entry @f mode<forward> {
  %ids = exec.input "ids" : memref<3xi64>
  %y = exec.output "y" output : memref<3xi32>
  // expected-error@below {{source and target must agree in sizes and elements}}
  exec.check_bound ins(%ids : memref<3xi64>) outs(%y : memref<3xi32>) bound = 5
}

// -----

exec.entry @f mode<forward> {
  %ids = exec.input "ids" : memref<6xi64>
  %part = exec.view %ids : memref<6xi64> to memref<3xi64, strided<[2]>>
  %y = exec.output "y" output : memref<3xi64>
  // expected-error@below {{needs dense buffers, has 'memref<3xi64, strided<[2]>>'}}
  exec.check_bound ins(%part : memref<3xi64, strided<[2]>>) outs(%y : memref<3xi64>) bound = 5
}
