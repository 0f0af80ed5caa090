// The first gathers of a step run at the end of the step before, beside updates.
// RUN: cs336-opt %s --split-input-file --exec-gather-ahead='percent=50 link-ratio=0.5' --mlir-print-debuginfo=false --pass-statistics 2>%t.statistics | FileCheck %s
// RUN: FileCheck %s --check-prefix=COUNT --input-file=%t.statistics
// RUN: cs336-opt %s --split-input-file --exec-gather-ahead='percent=50 link-ratio=0.5' > %t.once
// RUN: cs336-opt %s --split-input-file --exec-gather-ahead='percent=50 link-ratio=0.5' --exec-gather-ahead='percent=50 link-ratio=0.5' | diff - %t.once
// RUN: cs336-opt %s --split-input-file --exec-gather-ahead='percent=50 link-ratio=0.5' --remarks-filter=exec-gather-ahead --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt %s --split-input-file --exec-gather-ahead='percent=50 link-ratio=0.5' --exec-assign-streams --exec-plan-memory -o /dev/null
// RUN: cs336-opt %s --split-input-file > %t.unchanged
// RUN: cs336-opt %s --split-input-file --exec-gather-ahead='percent=0' | diff - %t.unchanged
// RUN: not cs336-opt %s --split-input-file --exec-gather-ahead='link-ratio=-1' 2>&1 | FileCheck %s --check-prefix=RATIO
// RUN: not cs336-opt %s --split-input-file --exec-gather-ahead='percent=101' 2>&1 | FileCheck %s --check-prefix=PERCENT
// RATIO: error: link-ratio must not be negative, is -1
// PERCENT: error: percent must be at most 100, is 101

// Two of four gathers move. The gradient of @b is ready before that of @a.
// CHECK: exec.variable @a parameter : memref<64xf32> {gathered, kept, shards = 2 : i64}
// CHECK: exec.variable @b parameter : memref<64xf32> {gathered, kept, shards = 2 : i64}
// CHECK: exec.variable @c parameter : memref<64xf32> {gathered, shards = 2 : i64}
// CHECK-LABEL: exec.entry @train
// CHECK-DAG: [[A:%.*]] = exec.get @a
// CHECK-DAG: [[B:%.*]] = exec.get @b
// CHECK-DAG: [[C:%.*]] = exec.get @c
// CHECK-DAG: [[D:%.*]] = exec.get @d
// CHECK-DAG: [[ALL_A:%.*]] = exec.get gathered @a
// CHECK-DAG: [[ALL_B:%.*]] = exec.get gathered @b
// CHECK-NOT: exec.collective all_gather ins([[A]]
// CHECK-NOT: exec.collective all_gather ins([[B]]
// CHECK: exec.collective all_gather ins([[C]] :
// CHECK-NEXT: exec.collective all_gather ins([[D]] :
// CHECK-COUNT-4: exec.collective reduce_scatter
// CHECK-NOT: exec.collective
// CHECK: exec.copy ins({{.*}}) outs([[B]] :
// CHECK-NEXT: exec.collective all_gather ins([[B]] : memref<64xf32>) outs([[ALL_B]] : memref<128xf32>) group = 2
// CHECK-NEXT: exec.copy ins({{.*}}) outs([[A]] :
// CHECK-NEXT: exec.collective all_gather ins([[A]] : memref<64xf32>) outs([[ALL_A]] : memref<128xf32>) group = 2
// CHECK-NEXT: exec.copy ins({{.*}}) outs([[C]] :
// CHECK-NEXT: exec.copy ins({{.*}}) outs([[D]] :
// CHECK-NEXT: }
// CHECK: exec.entry @prepare mode<prepare> {
// CHECK-DAG: [[A:%.*]] = exec.get @a
// CHECK-DAG: [[ALL_A:%.*]] = exec.get gathered @a
// CHECK: exec.collective all_gather ins([[A]] : memref<64xf32>) outs([[ALL_A]] : memref<128xf32>) group = 2
// CHECK-DAG: [[B:%.*]] = exec.get @b
// CHECK-DAG: [[ALL_B:%.*]] = exec.get gathered @b
// CHECK: exec.collective all_gather ins([[B]] : memref<64xf32>) outs([[ALL_B]] : memref<128xf32>) group = 2
// CHECK-NEXT: }
// REMARK: remark: [Passed] Ahead | Category:exec-gather-ahead | Remark="@train: 2 of 4 gathers follow the updates of their variables, and the next run begins without them"
// COUNT: exec-gather-ahead num-gathers 2 
exec.variable @a parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.variable @b parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.variable @c parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.variable @d parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @train mode<train> {
  %a = exec.get @a : memref<64xf32>
  %b = exec.get @b : memref<64xf32>
  %c = exec.get @c : memref<64xf32>
  %d = exec.get @d : memref<64xf32>
  %all_a = exec.get gathered @a : memref<128xf32>
  %all_b = exec.get gathered @b : memref<128xf32>
  %all_c = exec.get gathered @c : memref<128xf32>
  %all_d = exec.get gathered @d : memref<128xf32>
  %da = exec.alloc : memref<64xf32>
  %db = exec.alloc : memref<64xf32>
  %dc = exec.alloc : memref<64xf32>
  %dd = exec.alloc : memref<64xf32>
  exec.collective all_gather ins(%a : memref<64xf32>) outs(%all_a : memref<128xf32>) group = 2
  exec.collective all_gather ins(%b : memref<64xf32>) outs(%all_b : memref<128xf32>) group = 2
  exec.collective all_gather ins(%c : memref<64xf32>) outs(%all_c : memref<128xf32>) group = 2
  exec.collective all_gather ins(%d : memref<64xf32>) outs(%all_d : memref<128xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_d : memref<128xf32>) outs(%dd : memref<64xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_c : memref<128xf32>) outs(%dc : memref<64xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_b : memref<128xf32>) outs(%db : memref<64xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_a : memref<128xf32>) outs(%da : memref<64xf32>) group = 2
  exec.copy ins(%da : memref<64xf32>) outs(%a : memref<64xf32>)
  exec.copy ins(%db : memref<64xf32>) outs(%b : memref<64xf32>)
  exec.copy ins(%dc : memref<64xf32>) outs(%c : memref<64xf32>)
  exec.copy ins(%dd : memref<64xf32>) outs(%d : memref<64xf32>)
}

// -----

// The update of @b is short. The device updates @d first, while the gradient of @a is reduced. A command that the
// update of @b depends on moves with it. `prepare` exists.
// CHECK: exec.variable @shadow derived : memref<64xf32> {gathered, kept, shards = 2 : i64}
// CHECK-LABEL: exec.entry @train
// CHECK-COUNT-4: exec.collective reduce_scatter
// CHECK-NEXT: exec.copy ins({{.*}}) outs(%d : memref<4096xf32>)
// CHECK-NEXT: exec.copy ins({{.*}}) outs([[SCALED:%.*]] : memref<64xf32>)
// CHECK-NEXT: exec.copy ins([[SCALED]] : memref<64xf32>) outs(%shadow : memref<64xf32>)
// CHECK-NEXT: exec.collective all_gather
// CHECK-NEXT: exec.copy ins({{.*}}) outs(%a : memref<64xf32>)
// CHECK-NEXT: exec.collective all_gather
// CHECK-NEXT: exec.copy ins({{.*}}) outs(%c : memref<4096xf32>)
// CHECK-NEXT: }
// CHECK: exec.entry @prepare mode<prepare> {
// CHECK: exec.copy ins(%b : memref<64xf32>) outs(%shadow : memref<64xf32>)
// CHECK: exec.collective all_gather ins(%a
// CHECK: exec.collective all_gather ins(%shadow
// CHECK-NEXT: }
exec.variable @a parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.variable @b parameter : memref<64xf32> {shards = 2 : i64}
exec.variable @shadow derived : memref<64xf32> {gathered, shards = 2 : i64}
exec.variable @c parameter : memref<4096xf32> {gathered, shards = 2 : i64}
exec.variable @d parameter : memref<4096xf32> {gathered, shards = 2 : i64}
exec.entry @train mode<train> {
  %a = exec.get @a : memref<64xf32>
  %shadow = exec.get @shadow : memref<64xf32>
  %c = exec.get @c : memref<4096xf32>
  %d = exec.get @d : memref<4096xf32>
  %all_a = exec.get gathered @a : memref<128xf32>
  %all_b = exec.get gathered @shadow : memref<128xf32>
  %all_c = exec.get gathered @c : memref<8192xf32>
  %all_d = exec.get gathered @d : memref<8192xf32>
  %da = exec.alloc : memref<64xf32>
  %db = exec.alloc : memref<64xf32>
  %scaled = exec.alloc : memref<64xf32>
  %dc = exec.alloc : memref<4096xf32>
  %dd = exec.alloc : memref<4096xf32>
  exec.collective all_gather ins(%a : memref<64xf32>) outs(%all_a : memref<128xf32>) group = 2
  exec.collective all_gather ins(%shadow : memref<64xf32>) outs(%all_b : memref<128xf32>) group = 2
  exec.collective all_gather ins(%c : memref<4096xf32>) outs(%all_c : memref<8192xf32>) group = 2
  exec.collective all_gather ins(%d : memref<4096xf32>) outs(%all_d : memref<8192xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_d : memref<8192xf32>) outs(%dd : memref<4096xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_c : memref<8192xf32>) outs(%dc : memref<4096xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_b : memref<128xf32>) outs(%db : memref<64xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_a : memref<128xf32>) outs(%da : memref<64xf32>) group = 2
  exec.copy ins(%db : memref<64xf32>) outs(%scaled : memref<64xf32>)
  exec.copy ins(%da : memref<64xf32>) outs(%a : memref<64xf32>)
  exec.copy ins(%scaled : memref<64xf32>) outs(%shadow : memref<64xf32>)
  exec.copy ins(%dc : memref<4096xf32>) outs(%c : memref<4096xf32>)
  exec.copy ins(%dd : memref<4096xf32>) outs(%d : memref<4096xf32>)
}
exec.entry @prepare mode<prepare> {
  %b = exec.get @b : memref<64xf32>
  %shadow = exec.get @shadow : memref<64xf32>
  exec.copy ins(%b : memref<64xf32>) outs(%shadow : memref<64xf32>)
}

// -----

// A variable that no entry changes is gathered by `prepare` alone.
// CHECK: exec.variable @w parameter : memref<64xf32> {gathered, kept, shards = 2 : i64}
// CHECK-LABEL: exec.entry @fixed
// CHECK-NOT: exec.collective
// CHECK: exec.entry @prepare mode<prepare> {
// CHECK: exec.collective all_gather
exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @fixed mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.get gathered @w : memref<128xf32>
  %y = exec.output "y" output : memref<128xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
}

// -----

// There is nothing beside which the gather could run.
// CHECK: exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
// CHECK-LABEL: exec.entry @alone
// CHECK: exec.collective all_gather
// CHECK-NOT: exec.entry
// REMARK: remark: [Missed] NotAhead | Category:exec-gather-ahead | Remark="@alone: its 1 gathers stay at its start: the step would not be faster if the step before did the first"
exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @alone mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.get gathered @w : memref<128xf32>
  %dw = exec.alloc : memref<64xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all : memref<128xf32>) outs(%dw : memref<64xf32>) group = 2
  exec.copy ins(%dw : memref<64xf32>) outs(%w : memref<64xf32>)
}

// -----

// Another entry changes the variable.
// CHECK: exec.variable @v parameter : memref<64xf32> {gathered, shards = 2 : i64}
// CHECK-NOT: exec.entry @prepare
exec.variable @v parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @one_of_two mode<train> {
  %v = exec.get @v : memref<64xf32>
  %all_v = exec.get gathered @v : memref<128xf32>
  %dv = exec.alloc : memref<64xf32>
  %large = exec.alloc : memref<4096xf32>
  %x = exec.input "x" : memref<4096xf32>
  exec.collective all_gather ins(%v : memref<64xf32>) outs(%all_v : memref<128xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_v : memref<128xf32>) outs(%dv : memref<64xf32>) group = 2
  exec.copy ins(%dv : memref<64xf32>) outs(%v : memref<64xf32>)
  exec.copy ins(%x : memref<4096xf32>) outs(%large : memref<4096xf32>)
}
exec.entry @other mode<train> {
  %v = exec.get @v : memref<64xf32>
  %x = exec.input "x" : memref<64xf32>
  exec.copy ins(%x : memref<64xf32>) outs(%v : memref<64xf32>)
}

// -----

// The runtime would not run the gathers after callers have set @w.
// CHECK: exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
// CHECK-LABEL: exec.entry @taken
// CHECK: exec.collective all_gather
// REMARK: remark: [Missed] NotPrepared | Category:exec-gather-ahead | Remark="@taken: its 1 gathers stay at its start: @prepare is not an entry of mode prepare, which would gather after callers set variables"
exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @taken mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.get gathered @w : memref<128xf32>
  %y = exec.output "y" output : memref<128xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
}
exec.entry @prepare mode<forward> {
}

// -----

// A gather into the storage of another variable stays: no command updates @a, and @b is never whole.
// CHECK-LABEL: exec.entry @into_another
// CHECK: exec.collective all_gather
// CHECK-NEXT: exec.collective reduce_scatter
// CHECK-NEXT: exec.copy
// CHECK-NEXT: }
exec.variable @a parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.variable @b parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @into_another mode<train> {
  %a = exec.get @a : memref<64xf32>
  %b = exec.get @b : memref<64xf32>
  %all_b = exec.get gathered @b : memref<128xf32>
  %db = exec.alloc : memref<64xf32>
  exec.collective all_gather ins(%a : memref<64xf32>) outs(%all_b : memref<128xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_b : memref<128xf32>) outs(%db : memref<64xf32>) group = 2
  exec.copy ins(%db : memref<64xf32>) outs(%b : memref<64xf32>)
}

// -----

// An update before the last collective keeps its place, and its gather follows it, beside the long copy.
// CHECK: exec.variable @c parameter : memref<64xf32> {gathered, kept, shards = 2 : i64}
// CHECK-LABEL: exec.entry @updated_early
// CHECK-NOT: exec.collective all_gather
// CHECK: exec.collective reduce_scatter
// CHECK-NEXT: exec.copy ins({{.*}}) outs(%c :
// CHECK-NEXT: exec.collective all_gather ins(%c :
// CHECK-NEXT: exec.copy
// CHECK-NEXT: exec.collective reduce_scatter
// CHECK-NEXT: exec.copy
// CHECK-NEXT: }
exec.variable @c parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.variable @e parameter : memref<4194304xf32>
exec.entry @updated_early mode<train> {
  %c = exec.get @c : memref<64xf32>
  %e = exec.get @e : memref<4194304xf32>
  %all_c = exec.get gathered @c : memref<128xf32>
  %dc = exec.alloc : memref<64xf32>
  %de = exec.alloc : memref<4194304xf32>
  %x = exec.input "x" : memref<8388608xf32>
  %y = exec.alloc : memref<8388608xf32>
  exec.collective all_gather ins(%c : memref<64xf32>) outs(%all_c : memref<128xf32>) group = 2
  exec.collective reduce_scatter mean ins(%all_c : memref<128xf32>) outs(%dc : memref<64xf32>) group = 2
  exec.copy ins(%dc : memref<64xf32>) outs(%c : memref<64xf32>)
  exec.copy ins(%x : memref<8388608xf32>) outs(%y : memref<8388608xf32>)
  exec.collective reduce_scatter mean ins(%y : memref<8388608xf32>) outs(%de : memref<4194304xf32>) group = 2
  exec.copy ins(%de : memref<4194304xf32>) outs(%e : memref<4194304xf32>)
}

// -----

// An update before the gather: the commands after the gather need the new parts.
// CHECK: exec.variable @c parameter : memref<64xf32> {gathered, shards = 2 : i64}
// CHECK-LABEL: exec.entry @updated_before
// CHECK: exec.copy
// CHECK-NEXT: exec.collective all_gather
exec.variable @c parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @updated_before mode<train> {
  %c = exec.get @c : memref<64xf32>
  %all_c = exec.get gathered @c : memref<128xf32>
  %x = exec.input "x" : memref<64xf32>
  %y = exec.output "y" output : memref<128xf32>
  exec.copy ins(%x : memref<64xf32>) outs(%c : memref<64xf32>)
  exec.collective all_gather ins(%c : memref<64xf32>) outs(%all_c : memref<128xf32>) group = 2
  exec.copy ins(%all_c : memref<128xf32>) outs(%y : memref<128xf32>)
}
