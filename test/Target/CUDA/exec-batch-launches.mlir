// RUN: cs336-opt --exec-batch-launches=min-members=2 --mlir-print-debuginfo=false %s | FileCheck %s
// RUN: cs336-opt --exec-batch-launches --mlir-print-debuginfo=false %s | FileCheck %s --check-prefix=FOUR
// RUN: cs336-opt --exec-batch-launches=min-members=2 %s -o %t.once.mlir
// RUN: cs336-opt --exec-batch-launches=min-members=2 %t.once.mlir | diff %t.once.mlir -
// RUN: cs336-opt --exec-batch-launches=min-members=2 --pass-statistics %s 2>&1 >/dev/null | FileCheck %s --check-prefix=COUNTS
// RUN: cs336-opt --exec-batch-launches=min-members=2 --remarks-filter-missed=exec-batch-launches %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// COUNTS: exec-batch-launches num-launches {{ *}}11  Number of launches that became part of another
// COUNTS-NEXT: exec-batch-launches num-batches {{ *}}5  Number of launches that they became
// COUNTS-NEXT: exec-batch-launches num-kernels {{ *}}4  Number of kernels created

exec.variable @a parameter : memref<8x4xf32>
exec.variable @b parameter : memref<7xf32>
exec.variable @c parameter : memref<8x4xf32>

// Kernels without launches are erased.
// CHECK-NOT: exec.kernel @scale
// FOUR: exec.kernel @scale_vector
exec.kernel @scale_vector(%x: tensor<7xf32>, %s: tensor<f32>) : (memref<7xf32>, memref<f32>) -> memref<7xf32> {
  %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<7xf32>
  %1 = cs336.mul %x, %0 : tensor<7xf32>
  exec.yield %1 : tensor<7xf32>
}
exec.kernel @scale(%x: tensor<8x4xf32>, %s: tensor<f32>) : (memref<8x4xf32>, memref<f32>) -> memref<8x4xf32> {
  %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<8x4xf32>
  %1 = cs336.mul %x, %0 : tensor<8x4xf32>
  exec.yield %1 : tensor<8x4xf32>
}
exec.kernel @twice(%x: tensor<8x4xf32>) : (memref<8x4xf32>) -> memref<8x4xf32> {
  %0 = cs336.constant dense<2.0> : tensor<8x4xf32>
  %1 = cs336.mul %x, %0 : tensor<8x4xf32>
  exec.yield %1 : tensor<8x4xf32>
}
exec.kernel @thrice(%x: tensor<7xf32>) : (memref<7xf32>) -> memref<7xf32> {
  %0 = cs336.constant dense<3.0> : tensor<7xf32>
  %1 = cs336.mul %x, %0 : tensor<7xf32>
  exec.yield %1 : tensor<7xf32>
}
exec.kernel @rows(%x: tensor<8x4xf32>) : (memref<8x4xf32, strided<[8, 1]>>) -> memref<8x4xf32> {
  %0 = cs336.constant dense<2.0> : tensor<8x4xf32>
  %1 = cs336.mul %x, %0 : tensor<8x4xf32>
  exec.yield %1 : tensor<8x4xf32>
}
exec.kernel @fill(%s: tensor<f32>) : (memref<f32>) -> memref<64xf32> {
  %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<64xf32>
  %1 = cs336.neg %0 : tensor<64xf32>
  exec.yield %1 : tensor<64xf32>
}
exec.kernel @read(%x: tensor<64xf32>) : (memref<64xf32>) -> memref<64xf32> {
  %0 = cs336.exp %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}

// Updates in place. What all read of one element is an operand once.
// CHECK: exec.kernel @mul_batch_[[INPLACE:[0-9a-f]{4}]](%{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<7xf32>, %{{.*}}: tensor<8x4xf32>, %[[S:.*]]: tensor<f32>) :
// CHECK-SAME: (memref<8x4xf32>, memref<7xf32>, memref<8x4xf32>, memref<f32>) -> (memref<8x4xf32>, memref<7xf32>, memref<8x4xf32>) {
// CHECK: cs336.broadcast %[[S]] dims = [] : tensor<f32> -> tensor<8x4xf32>
// CHECK: cs336.broadcast %[[S]] dims = [] : tensor<f32> -> tensor<7xf32>
// CHECK-LABEL: exec.entry @update
// CHECK: %[[A:.*]] = exec.get @a
// CHECK: %[[B:.*]] = exec.get @b
// CHECK: %[[C:.*]] = exec.get @c
// CHECK: %[[FACTOR:.*]] = exec.input "factor"
// CHECK: exec.copy
// CHECK-NEXT: exec.launch @mul_batch_[[INPLACE]] ins(%[[A]], %[[B]], %[[C]], %[[FACTOR]] : {{.*}}) outs(%[[A]], %[[B]], %[[C]] :
// CHECK-NOT: exec.launch
// FOUR-LABEL: exec.entry @update
// FOUR-COUNT-3: exec.launch @scale
exec.entry @update mode<train> {
  %a = exec.get @a : memref<8x4xf32>
  %b = exec.get @b : memref<7xf32>
  %c = exec.get @c : memref<8x4xf32>
  %s = exec.input "factor" : memref<f32>
  %y = exec.output "y" output : memref<f32>
  exec.launch @scale ins(%a, %s : memref<8x4xf32>, memref<f32>) outs(%a : memref<8x4xf32>)
  exec.launch @scale_vector ins(%b, %s : memref<7xf32>, memref<f32>) outs(%b : memref<7xf32>)
  exec.copy ins(%s : memref<f32>) outs(%y : memref<f32>)
  exec.launch @scale ins(%c, %s : memref<8x4xf32>, memref<f32>) outs(%c : memref<8x4xf32>)
}

// Reductions to single elements, whatever the shapes; those to more stay.
// CHECK-LABEL: exec.entry @reductions
// CHECK: exec.launch @reduce_batch_{{.*}} ins(%{{.*}}, %{{.*}} : memref<8x4xf32>, memref<7xf32>) outs(%{{.*}}, %{{.*}} : memref<f32>, memref<f32>)
// CHECK-COUNT-2: exec.launch @sum_rows
exec.kernel @sum(%x: tensor<8x4xf32>) : (memref<8x4xf32>) -> memref<f32> {
  %0 = cs336.reduce sum %x axes = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  exec.yield %0 : tensor<f32>
}
exec.kernel @sum_vector(%x: tensor<7xf32>) : (memref<7xf32>) -> memref<f32> {
  %0 = cs336.reduce sum %x axes = [0] : tensor<7xf32> -> tensor<f32>
  exec.yield %0 : tensor<f32>
}
exec.kernel @sum_rows(%x: tensor<8x4xf32>) : (memref<8x4xf32>) -> memref<8xf32> {
  %0 = cs336.reduce sum %x axes = [1] : tensor<8x4xf32> -> tensor<8xf32>
  exec.yield %0 : tensor<8xf32>
}
exec.entry @reductions mode<forward> {
  %x = exec.input "x" : memref<8x4xf32>
  %v = exec.input "v" : memref<7xf32>
  %a = exec.output "a" output : memref<f32>
  %b = exec.output "b" output : memref<f32>
  %c = exec.output "c" output : memref<8xf32>
  %d = exec.output "d" output : memref<8xf32>
  exec.launch @sum ins(%x : memref<8x4xf32>) outs(%a : memref<f32>)
  exec.launch @sum_vector ins(%v : memref<7xf32>) outs(%b : memref<f32>)
  exec.launch @sum_rows ins(%x : memref<8x4xf32>) outs(%c : memref<8xf32>)
  exec.launch @sum_rows ins(%x : memref<8x4xf32>) outs(%d : memref<8xf32>)
}

// Each member has its own scalar: no operand is shared.
// CHECK-LABEL: exec.entry @own_scalars
// CHECK: exec.launch @mul_batch_{{.*}} ins(%[[X:.*]], %[[S:.*]], %[[X]], %[[T:.*]] : memref<8x4xf32>, memref<f32>, memref<8x4xf32>, memref<f32>)
exec.entry @own_scalars mode<forward> {
  %x = exec.input "x" : memref<8x4xf32>
  %s = exec.input "s" : memref<f32>
  %t = exec.input "t" : memref<f32>
  %y = exec.output "y" output : memref<8x4xf32>
  %z = exec.output "z" output : memref<8x4xf32>
  exec.launch @scale ins(%x, %s : memref<8x4xf32>, memref<f32>) outs(%y : memref<8x4xf32>)
  exec.launch @scale ins(%x, %t : memref<8x4xf32>, memref<f32>) outs(%z : memref<8x4xf32>)
}

// One needs the other; other constants; not in the order of memory; another stream.
// CHECK-LABEL: exec.entry @different
// CHECK-NOT: _batch_
exec.entry @different mode<forward> {
  %x = exec.input "x" : memref<8x4xf32>
  %v = exec.input "v" : memref<7xf32>
  %wide = exec.input "wide" : memref<8x8xf32>
  %y = exec.output "y" output : memref<8x4xf32>
  %z = exec.output "z" output : memref<8x4xf32>
  %w = exec.output "w" output : memref<7xf32>
  %u = exec.output "u" output : memref<8x4xf32>
  %t = exec.output "t" output : memref<8x4xf32>
  %part = exec.view %wide : memref<8x8xf32> to memref<8x4xf32, strided<[8, 1]>>
  exec.launch @twice ins(%x : memref<8x4xf32>) outs(%y : memref<8x4xf32>)
  exec.launch @twice ins(%y : memref<8x4xf32>) outs(%z : memref<8x4xf32>)
  exec.launch @thrice ins(%v : memref<7xf32>) outs(%w : memref<7xf32>)
  exec.launch @rows ins(%part : memref<8x4xf32, strided<[8, 1]>>) outs(%u : memref<8x4xf32>)
  exec.launch @twice ins(%x : memref<8x4xf32>) outs(%t : memref<8x4xf32>) {stream = 1 : i64}
}

// Views of one storage may overlap; the pass does not analyse them.
// CHECK-LABEL: exec.entry @aliasing
// CHECK-COUNT-2: exec.launch @twice
exec.entry @aliasing mode<forward> {
  %x = exec.input "x" : memref<8x4xf32>
  %y = exec.output "y" output : memref<16x4xf32>
  %lower = exec.view %y : memref<16x4xf32> to memref<8x4xf32>
  %upper = exec.view %y : memref<16x4xf32> to memref<8x4xf32, strided<[4, 1], offset: 32>>
  exec.launch @twice ins(%x : memref<8x4xf32>) outs(%lower : memref<8x4xf32>)
  exec.launch @twice ins(%x : memref<8x4xf32>) outs(%upper : memref<8x4xf32, strided<[4, 1], offset: 32>>)
}

// A command in between that reads what a member writes, or writes what it reads, under another name of the variable,
// ends the batch. An event does, too.
// CHECK-LABEL: exec.entry @passed
// CHECK: exec.launch @mul_batch_[[TWICE:[0-9a-f]{4}]]
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.launch @mul_batch_[[TWICE]]
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.launch @twice
// CHECK-NEXT: exec.record
// CHECK-NEXT: exec.launch @twice
// CHECK-NOT: exec.launch
exec.entry @passed mode<train> {
  %a = exec.get @a : memref<8x4xf32>
  %same = exec.get @a : memref<8x4xf32>
  %c = exec.get @c : memref<8x4xf32>
  %p = exec.output "p" output : memref<8x4xf32>
  %q = exec.output "q" output : memref<8x4xf32>
  %r = exec.output "r" output : memref<8x4xf32>
  exec.launch @twice ins(%a : memref<8x4xf32>) outs(%p : memref<8x4xf32>)
  exec.launch @twice ins(%a : memref<8x4xf32>) outs(%q : memref<8x4xf32>)
  exec.copy ins(%p : memref<8x4xf32>) outs(%r : memref<8x4xf32>)
  exec.launch @twice ins(%a : memref<8x4xf32>) outs(%p : memref<8x4xf32>)
  exec.launch @twice ins(%a : memref<8x4xf32>) outs(%q : memref<8x4xf32>)
  exec.copy ins(%c : memref<8x4xf32>) outs(%same : memref<8x4xf32>)
  exec.launch @twice ins(%a : memref<8x4xf32>) outs(%p : memref<8x4xf32>)
  exec.record 0
  exec.launch @twice ins(%a : memref<8x4xf32>) outs(%q : memref<8x4xf32>)
}

// The first operand would live until the second is there.
// CHECK-LABEL: exec.entry @memory
// CHECK: exec.launch @fill
// CHECK-NEXT: exec.launch @read
// CHECK-NEXT: exec.launch @fill
// CHECK-NEXT: exec.launch @read
// REMARK: remark: {{.*}}KeptApart
// REMARK-SAME: 2 launches like this one stay apart: as one they would raise the largest live set
exec.entry @memory mode<forward> {
  %s = exec.input "s" : memref<f32>
  %y = exec.output "y" output : memref<64xf32>
  %z = exec.output "z" output : memref<64xf32>
  %1 = exec.alloc : memref<64xf32>
  %2 = exec.alloc : memref<64xf32>
  exec.launch @fill ins(%s : memref<f32>) outs(%1 : memref<64xf32>)
  exec.launch @read ins(%1 : memref<64xf32>) outs(%y : memref<64xf32>)
  exec.launch @fill ins(%s : memref<f32>) outs(%2 : memref<64xf32>)
  exec.launch @read ins(%2 : memref<64xf32>) outs(%z : memref<64xf32>)
}
