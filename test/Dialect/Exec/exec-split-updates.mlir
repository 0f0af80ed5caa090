// Each rank updates the rows that it has computed a gradient of apart from those of the other ranks.
// RUN: cs336-opt %s --exec-split-updates --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --exec-split-updates -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --exec-split-updates | diff %t.once.mlir -
// RUN: cs336-opt %s --exec-split-updates --pass-statistics 2>&1 >/dev/null | FileCheck %s --check-prefix=COUNTS
// RUN: cs336-opt %s --exec-split-updates --remarks-filter=exec-split-updates --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:
// RUN: cs336-opt %s --exec-split-updates --exec-assign-streams --exec-plan-memory -o /dev/null

// COUNTS: exec-split-updates num-updates {{ *}}5  Number of updates that became one launch per rank

// REMARK: remark: [Passed] Split | Category:exec-split-updates | Remark="step became 2 launches, for the rows of each rank: the own rows are updated without waiting for the others"
// REMARK: remark: [Passed] Split {{.*}} Remark="step became 2 launches
// REMARK: remark: [Passed] Split {{.*}} Remark="step_v became 4 launches
// REMARK: remark: [Passed] Split {{.*}} Remark="step_twice became 2 launches
// REMARK: remark: [Passed] Split {{.*}} Remark="step_other became 2 launches

exec.variable @w parameter : memref<128x64xf32>
exec.variable @w.rounded derived : memref<128x64xbf16>
exec.variable @v parameter : memref<128x64xf32>
exec.variable @sharded parameter : memref<128x64xf32> {shards = 2 : i64}
exec.variable @sharded.rounded derived : memref<128x64xbf16> {shards = 2 : i64}
exec.variable @narrow parameter : memref<64x2xf32>
exec.variable @average state : memref<128x64xf32>

// The kernel of the rows has the same operations. A kernel without launches is erased.
// CHECK: exec.kernel @[[ROWS:cast_mul_mul_sub_[0-9a-f]+]](%{{.*}}: tensor<64x64xf32>, %{{.*}}: tensor<64x64xbf16>, %[[S:.*]]: tensor<f32>) : (memref<64x64xf32>, memref<64x64xbf16>, memref<f32>) -> (memref<64x64xf32>, memref<64x64xbf16>) {
// CHECK-NEXT: cs336.constant dense<2.000000e+00> : tensor<64x64xf32>
// CHECK-NEXT: cs336.cast %{{.*}} : tensor<64x64xbf16> -> tensor<64x64xf32>
// CHECK-NEXT: cs336.broadcast %[[S]] dims = [] : tensor<f32> -> tensor<64x64xf32>
// CHECK: exec.kernel @step(
// CHECK-NOT: exec.kernel @step_v
exec.kernel @step(%p: tensor<128x64xf32>, %g: tensor<128x64xbf16>, %s: tensor<f32>)
    : (memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) -> (memref<128x64xf32>, memref<128x64xbf16>) {
  %0 = cs336.constant dense<2.0> : tensor<128x64xf32>
  %1 = cs336.cast %g : tensor<128x64xbf16> -> tensor<128x64xf32>
  %2 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<128x64xf32>
  %3 = cs336.mul %1, %2 : tensor<128x64xf32>
  %4 = cs336.mul %3, %0 : tensor<128x64xf32>
  %5 = cs336.sub %p, %4 : tensor<128x64xf32>
  %6 = cs336.cast %5 : tensor<128x64xf32> -> tensor<128x64xbf16>
  exec.yield %5, %6 : tensor<128x64xf32>, tensor<128x64xbf16>
}
exec.kernel @step_v(%p: tensor<128x64xf32>, %g: tensor<128x64xf32>) : (memref<128x64xf32>, memref<128x64xf32>) -> memref<128x64xf32> {
  %0 = cs336.sub %p, %g : tensor<128x64xf32>
  exec.yield %0 : tensor<128x64xf32>
}
exec.kernel @step_narrow(%p: tensor<64x2xf32>, %g: tensor<64x2xbf16>) : (memref<64x2xf32>, memref<64x2xbf16>) -> memref<64x2xf32> {
  %0 = cs336.cast %g : tensor<64x2xbf16> -> tensor<64x2xf32>
  %1 = cs336.sub %p, %0 : tensor<64x2xf32>
  exec.yield %1 : tensor<64x2xf32>
}
exec.kernel @step_softmax(%p: tensor<128x64xf32>, %g: tensor<128x64xf32>) : (memref<128x64xf32>, memref<128x64xf32>) -> memref<128x64xf32> {
  %0 = cs336.softmax %g : tensor<128x64xf32>
  %1 = cs336.sub %p, %0 : tensor<128x64xf32>
  exec.yield %1 : tensor<128x64xf32>
}
exec.kernel @step_rows(%p: tensor<128x64xf32>, %g: tensor<128x64xf32>, %s: tensor<128xf32>) : (memref<128x64xf32>, memref<128x64xf32>, memref<128xf32>) -> memref<128x64xf32> {
  %0 = cs336.broadcast %s dims = [0] : tensor<128xf32> -> tensor<128x64xf32>
  %1 = cs336.mul %g, %0 : tensor<128x64xf32>
  %2 = cs336.sub %p, %1 : tensor<128x64xf32>
  exec.yield %2 : tensor<128x64xf32>
}
exec.kernel @step_average(%p: tensor<128x64xf32>, %g: tensor<128x64xf32>) : (memref<128x64xf32>, memref<128x64xf32>) -> memref<128x64xf32> {
  %0 = cs336.add %p, %g : tensor<128x64xf32>
  exec.yield %0 : tensor<128x64xf32>
}

// The own rows read the operand of the all_gather. The scalar is the same for all rows.
// CHECK-LABEL: exec.entry @train
// CHECK: exec.collective all_gather ins(%[[OWN:.*]] : memref<64x64xbf16>) outs(%[[ALL:.*]] : memref<128x64xbf16>) group = 2
// CHECK-NEXT: %[[V:.*]] = exec.view %w : memref<128x64xf32> to memref<2x64x64xf32>
// CHECK-NEXT: %[[W0:.*]] = exec.part %[[V]] : memref<2x64x64xf32> -> memref<64x64xf32>
// CHECK-NEXT: %[[V:.*]] = exec.view %w.rounded : memref<128x64xbf16> to memref<2x64x64xbf16>
// CHECK-NEXT: %[[R0:.*]] = exec.part %[[V]] : memref<2x64x64xbf16> -> memref<64x64xbf16>
// CHECK-NEXT: exec.launch @[[ROWS]] ins(%[[W0]], %[[OWN]], %s : memref<64x64xf32>, memref<64x64xbf16>, memref<f32>) outs(%[[W0]], %[[R0]] :
// CHECK-NEXT: %[[V:.*]] = exec.view %w :
// CHECK-NEXT: %[[W1:.*]] = exec.part rank + 1 of %[[V]] : memref<2x64x64xf32> -> memref<64x64xf32>
// CHECK-NEXT: %[[V:.*]] = exec.view %w.rounded :
// CHECK-NEXT: %[[R1:.*]] = exec.part rank + 1 of %[[V]]
// CHECK-NEXT: %[[V:.*]] = exec.view %[[ALL]] : memref<128x64xbf16> to memref<2x64x64xbf16>
// CHECK-NEXT: %[[G1:.*]] = exec.part rank + 1 of %[[V]]
// CHECK-NEXT: exec.launch @[[ROWS]] ins(%[[W1]], %[[G1]], %s : {{.*}}) outs(%[[W1]], %[[R1]] :
// CHECK-NEXT: }
exec.entry @train mode<train> {
  %own = exec.input "own" : memref<64x64xbf16>
  %s = exec.input "s" : memref<f32>
  %w = exec.get @w : memref<128x64xf32>
  %r = exec.get @w.rounded : memref<128x64xbf16>
  %g = exec.alloc : memref<128x64xbf16>
  exec.collective all_gather ins(%own : memref<64x64xbf16>) outs(%g : memref<128x64xbf16>) group = 2
  exec.launch @step ins(%w, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%w, %r : memref<128x64xf32>, memref<128x64xbf16>)
}

// Updates of one kernel share that of the rows. The second operand of a collective has its own target. Another number of
// ranks has other rows.
// CHECK-LABEL: exec.entry @several
// CHECK: exec.collective all_gather ins(%x, %y :
// CHECK: exec.launch @[[ROWS]] ins(%{{.*}}, %y, %s :
// CHECK: exec.launch @[[ROWS]]
// CHECK: exec.launch @sub_[[QUARTER:[0-9a-f]+]] ins(%{{.*}}, %z : memref<32x64xf32>, memref<32x64xf32>)
// CHECK: exec.part rank + 1 of
// CHECK: exec.launch @sub_[[QUARTER]]
// CHECK: exec.part rank + 2 of
// CHECK: exec.launch @sub_[[QUARTER]]
// CHECK: exec.part rank + 3 of
// CHECK: exec.launch @sub_[[QUARTER]]
// CHECK-NOT: exec.launch
exec.entry @several mode<train> {
  %x = exec.input "x" : memref<64x64xbf16>
  %y = exec.input "y" : memref<64x64xbf16>
  %z = exec.input "z" : memref<32x64xf32>
  %s = exec.input "s" : memref<f32>
  %w = exec.get @w : memref<128x64xf32>
  %r = exec.get @w.rounded : memref<128x64xbf16>
  %v = exec.get @v : memref<128x64xf32>
  %unused = exec.alloc : memref<128x64xbf16>
  %g = exec.alloc : memref<128x64xbf16>
  exec.collective all_gather ins(%x, %y : memref<64x64xbf16>, memref<64x64xbf16>) outs(%unused, %g : memref<128x64xbf16>, memref<128x64xbf16>) group = 2
  %h = exec.alloc : memref<128x64xf32>
  exec.collective all_gather ins(%z : memref<32x64xf32>) outs(%h : memref<128x64xf32>) group = 4
  exec.launch @step ins(%w, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%w, %r : memref<128x64xf32>, memref<128x64xbf16>)
  exec.launch @step_v ins(%v, %h : memref<128x64xf32>, memref<128x64xf32>) outs(%v : memref<128x64xf32>)
}

// A rank does not store the other rows of a sharded variable.
// CHECK-LABEL: exec.entry @update_sharded
// CHECK: exec.launch @step ins(
// CHECK-NOT: exec.launch
exec.entry @update_sharded mode<train> {
  %own = exec.input "own" : memref<64x64xbf16>
  %s = exec.input "s" : memref<f32>
  %w = exec.get @sharded : memref<128x64xf32>
  %r = exec.get @sharded.rounded : memref<128x64xbf16>
  %g = exec.alloc : memref<128x64xbf16>
  exec.collective all_gather ins(%own : memref<64x64xbf16>) outs(%g : memref<128x64xbf16>) group = 2
  exec.launch @step ins(%w, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%w, %r : memref<128x64xf32>, memref<128x64xbf16>)
}

// CHECK-LABEL: exec.entry @another_reader
// CHECK: exec.launch @step ins(
// CHECK-NOT: exec.launch
exec.entry @another_reader mode<train> {
  %own = exec.input "own" : memref<64x64xbf16>
  %s = exec.input "s" : memref<f32>
  %y = exec.output "y" output : memref<128x64xbf16>
  %w = exec.get @w : memref<128x64xf32>
  %r = exec.get @w.rounded : memref<128x64xbf16>
  %g = exec.alloc : memref<128x64xbf16>
  exec.collective all_gather ins(%own : memref<64x64xbf16>) outs(%g : memref<128x64xbf16>) group = 2
  exec.copy ins(%g : memref<128x64xbf16>) outs(%y : memref<128x64xbf16>)
  exec.launch @step ins(%w, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%w, %r : memref<128x64xf32>, memref<128x64xbf16>)
}

// The rows of another writer are not those of the ranks.
// CHECK-LABEL: exec.entry @another_writer
// CHECK: exec.launch @step ins(
// CHECK-NOT: exec.launch
exec.entry @another_writer mode<train> {
  %own = exec.input "own" : memref<64x64xbf16>
  %s = exec.input "s" : memref<f32>
  %w = exec.get @w : memref<128x64xf32>
  %r = exec.get @w.rounded : memref<128x64xbf16>
  %g = exec.alloc : memref<128x64xbf16>
  %rows = exec.view %g : memref<128x64xbf16> to memref<64x64xbf16>
  exec.collective all_gather ins(%own : memref<64x64xbf16>) outs(%g : memref<128x64xbf16>) group = 2
  exec.copy ins(%own : memref<64x64xbf16>) outs(%rows : memref<64x64xbf16>)
  exec.launch @step ins(%w, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%w, %r : memref<128x64xf32>, memref<128x64xbf16>)
}

// The rows of a rank have 128 bytes in the gradient.
// CHECK-LABEL: exec.entry @update_narrow
// CHECK: exec.launch @step_narrow ins(
// CHECK-NOT: exec.launch
exec.entry @update_narrow mode<train> {
  %own = exec.input "own" : memref<32x2xbf16>
  %w = exec.get @narrow : memref<64x2xf32>
  %g = exec.alloc : memref<64x2xbf16>
  exec.collective all_gather ins(%own : memref<32x2xbf16>) outs(%g : memref<64x2xbf16>) group = 2
  exec.launch @step_narrow ins(%w, %g : memref<64x2xf32>, memref<64x2xbf16>) outs(%w : memref<64x2xf32>)
}

// An element of the update needs several elements of the gradient.
// CHECK-LABEL: exec.entry @softmax
// CHECK: exec.launch @step_softmax ins(
// CHECK-NOT: exec.launch
exec.entry @softmax mode<train> {
  %own = exec.input "own" : memref<64x64xf32>
  %v = exec.get @v : memref<128x64xf32>
  %g = exec.alloc : memref<128x64xf32>
  exec.collective all_gather ins(%own : memref<64x64xf32>) outs(%g : memref<128x64xf32>) group = 2
  exec.launch @step_softmax ins(%v, %g : memref<128x64xf32>, memref<128x64xf32>) outs(%v : memref<128x64xf32>)
}

// An operand has another shape.
// CHECK-LABEL: exec.entry @rows
// CHECK: exec.launch @step_rows ins(
// CHECK-NOT: exec.launch
exec.entry @rows mode<train> {
  %own = exec.input "own" : memref<64x64xf32>
  %x = exec.input "x" : memref<64xf32>
  %v = exec.get @v : memref<128x64xf32>
  %g = exec.alloc : memref<128x64xf32>
  %s = exec.alloc : memref<128xf32>
  exec.collective all_gather ins(%own, %x : memref<64x64xf32>, memref<64xf32>) outs(%g, %s : memref<128x64xf32>, memref<128xf32>) group = 2
  exec.launch @step_rows ins(%v, %g, %s : memref<128x64xf32>, memref<128x64xf32>, memref<128xf32>) outs(%v : memref<128x64xf32>)
}

// An entry that is not a training step.
// CHECK-LABEL: exec.entry @update_average
// CHECK: exec.launch @step_average ins(
// CHECK-NOT: exec.launch
exec.entry @update_average mode<prepare> {
  %a = exec.get @average : memref<128x64xf32>
  %v = exec.get @v : memref<128x64xf32>
  %own = exec.view %v : memref<128x64xf32> to memref<64x64xf32>
  %g = exec.alloc : memref<128x64xf32>
  exec.collective all_gather ins(%own : memref<64x64xf32>) outs(%g : memref<128x64xf32>) group = 2
  exec.launch @step_average ins(%a, %g : memref<128x64xf32>, memref<128x64xf32>) outs(%a : memref<128x64xf32>)
}

exec.kernel @step_same(%p: tensor<128x64xf32>, %g: tensor<128x64xf32>) : (memref<128x64xf32>, memref<128x64xf32>) -> memref<128x64xf32> {
  %0 = cs336.add %p, %g : tensor<128x64xf32>
  exec.yield %0 : tensor<128x64xf32>
}

// The operand of the gather has other values when the launch runs.
// CHECK-LABEL: exec.entry @overwritten
// CHECK: exec.launch @step_same ins(
// CHECK-NOT: exec.launch
exec.entry @overwritten mode<train> {
  %x = exec.input "x" : memref<64x64xf32>
  %z = exec.input "z" : memref<64x64xf32>
  %v = exec.get @v : memref<128x64xf32>
  %own = exec.alloc : memref<64x64xf32>
  exec.copy ins(%x : memref<64x64xf32>) outs(%own : memref<64x64xf32>)
  %g = exec.alloc : memref<128x64xf32>
  exec.collective all_gather ins(%own : memref<64x64xf32>) outs(%g : memref<128x64xf32>) group = 2
  exec.copy ins(%z : memref<64x64xf32>) outs(%own : memref<64x64xf32>)
  exec.launch @step_same ins(%v, %g : memref<128x64xf32>, memref<128x64xf32>) outs(%v : memref<128x64xf32>)
}

// The target does not have the own rows.
// CHECK-LABEL: exec.entry @others
// CHECK: exec.launch @step_same ins(
// CHECK-NOT: exec.launch
exec.entry @others mode<train> {
  %own = exec.input "own" : memref<128x64xf32>
  %v = exec.get @v : memref<128x64xf32>
  %g = exec.alloc : memref<128x64xf32>
  exec.collective all_gather others ins(%own : memref<128x64xf32>) outs(%g : memref<128x64xf32>) group = 2
  exec.launch @step_same ins(%v, %g : memref<128x64xf32>, memref<128x64xf32>) outs(%v : memref<128x64xf32>)
}

// Parts have floating-point elements.
// CHECK-LABEL: exec.entry @masked
// CHECK: exec.launch @step_masked ins(
// CHECK-NOT: exec.launch
exec.variable @mask state : memref<128x64xi1>
exec.kernel @step_masked(%p: tensor<128x64xf32>, %g: tensor<128x64xf32>, %m: tensor<128x64xi1>) : (memref<128x64xf32>, memref<128x64xf32>, memref<128x64xi1>) -> memref<128x64xf32> {
  %0 = cs336.sub %p, %g : tensor<128x64xf32>
  %1 = cs336.select %m, %0, %p : tensor<128x64xf32>
  exec.yield %1 : tensor<128x64xf32>
}
exec.entry @masked mode<train> {
  %own = exec.input "own" : memref<64x64xf32>
  %m = exec.get @mask : memref<128x64xi1>
  %v = exec.get @v : memref<128x64xf32>
  %g = exec.alloc : memref<128x64xf32>
  exec.collective all_gather ins(%own : memref<64x64xf32>) outs(%g : memref<128x64xf32>) group = 2
  exec.launch @step_masked ins(%v, %g, %m : memref<128x64xf32>, memref<128x64xf32>, memref<128x64xi1>) outs(%v : memref<128x64xf32>)
}

// The own rows of the second update are a result of the first one.
// CHECK-LABEL: exec.entry @chained
// CHECK-COUNT-2: exec.launch @{{.*}} outs(%{{.*}}, %{{.*}} : memref<32x64xf32>, memref<32x64xf32>)
// CHECK: exec.collective all_gather ins(%[[OWN:.*]] : memref<64x64xf32>) outs(
// CHECK: exec.launch @{{.*}} ins(%{{.*}}, %[[OWN]] : memref<64x64xf32>, memref<64x64xf32>)
// CHECK: exec.launch @{{.*}} outs(%{{.*}} : memref<64x64xf32>)
// CHECK-NOT: exec.launch
exec.variable @small parameter : memref<64x64xf32>
exec.kernel @step_twice(%p: tensor<64x64xf32>, %g: tensor<64x64xf32>) : (memref<64x64xf32>, memref<64x64xf32>) -> (memref<64x64xf32>, memref<64x64xf32>) {
  %0 = cs336.sub %p, %g : tensor<64x64xf32>
  %1 = cs336.neg %0 : tensor<64x64xf32>
  exec.yield %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}
exec.kernel @step_other(%p: tensor<128x64xf32>, %g: tensor<128x64xf32>) : (memref<128x64xf32>, memref<128x64xf32>) -> memref<128x64xf32> {
  %0 = cs336.mul %p, %g : tensor<128x64xf32>
  exec.yield %0 : tensor<128x64xf32>
}
exec.entry @chained mode<train> {
  %x = exec.input "x" : memref<32x64xf32>
  %small = exec.get @small : memref<64x64xf32>
  %v = exec.get @v : memref<128x64xf32>
  %g = exec.alloc : memref<64x64xf32>
  exec.collective all_gather ins(%x : memref<32x64xf32>) outs(%g : memref<64x64xf32>) group = 2
  %own = exec.alloc : memref<64x64xf32>
  exec.launch @step_twice ins(%small, %g : memref<64x64xf32>, memref<64x64xf32>) outs(%small, %own : memref<64x64xf32>, memref<64x64xf32>)
  %h = exec.alloc : memref<128x64xf32>
  exec.collective all_gather ins(%own : memref<64x64xf32>) outs(%h : memref<128x64xf32>) group = 2
  exec.launch @step_other ins(%v, %h : memref<128x64xf32>, memref<128x64xf32>) outs(%v : memref<128x64xf32>)
}
