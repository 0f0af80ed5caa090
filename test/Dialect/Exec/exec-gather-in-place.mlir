// All-gathers of sharded variables write into the storage of the variables.
// RUN: cs336-opt %s --split-input-file --exec-gather-in-place --mlir-print-debuginfo=false --pass-statistics 2>%t.statistics | FileCheck %s
// RUN: FileCheck %s --check-prefix=COUNT --input-file=%t.statistics
// RUN: cs336-opt %s --split-input-file --exec-gather-in-place > %t.once
// RUN: cs336-opt %s --split-input-file --exec-gather-in-place --exec-gather-in-place | diff - %t.once
// RUN: cs336-opt %s --split-input-file --exec-gather-in-place --remarks-filter=exec-gather-in-place --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt %s --split-input-file --exec-gather-in-place --exec-assign-streams --exec-plan-memory -o /dev/null

// The backward pass reads both, which are thus in memory at the largest live set. Views of the target stay views.
// CHECK: exec.variable @a parameter : memref<64xf32> {gathered, shards = 2 : i64}
// CHECK: exec.variable @b derived : memref<16x8xf32> {gathered, shards = 2 : i64}
// CHECK-LABEL: exec.entry @step
// CHECK-DAG: [[A:%.*]] = exec.get @a : memref<64xf32>
// CHECK-DAG: [[B:%.*]] = exec.get @b : memref<16x8xf32>
// CHECK: [[ALL_A:%.*]] = exec.get gathered @a : memref<128xf32>
// CHECK: [[ALL_B:%.*]] = exec.get gathered @b : memref<32x8xf32>
// CHECK-NOT: exec.alloc
// CHECK: exec.collective all_gather ins([[A]], [[B]] : memref<64xf32>, memref<16x8xf32>) outs([[ALL_A]], [[ALL_B]] : memref<128xf32>, memref<32x8xf32>) group = 2
// CHECK: exec.view [[ALL_B]] : memref<32x8xf32> to memref<8x32xf32, strided<[1, 8]>>
// REMARK: remark: [Passed] InPlace | Category:exec-gather-in-place | Remark="step: 2 operands of all-gathers, 1536 bytes, surround the own parts of variables"
// COUNT: exec-gather-in-place num-operands 2 
exec.variable @a parameter : memref<64xf32> {shards = 2 : i64}
exec.variable @b derived : memref<16x8xf32> {shards = 2 : i64}
exec.entry @step mode<train> {
  %a = exec.get @a : memref<64xf32>
  %b = exec.get @b : memref<16x8xf32>
  %all_a = exec.alloc : memref<128xf32>
  %all_b = exec.alloc : memref<32x8xf32>
  exec.collective all_gather ins(%a, %b : memref<64xf32>, memref<16x8xf32>) outs(%all_a, %all_b : memref<128xf32>, memref<32x8xf32>) group = 2
  %y = exec.output "y" output : memref<8x32xf32>
  %z = exec.output "z" output : memref<128xf32>
  %transposed = exec.view %all_b : memref<32x8xf32> to memref<8x32xf32, strided<[1, 8]>>
  exec.copy ins(%transposed : memref<8x32xf32, strided<[1, 8]>>) outs(%y : memref<8x32xf32>)
  exec.copy ins(%all_a : memref<128xf32>) outs(%z : memref<128xf32>)
  // The update comes after the last command that reads the gathered values.
  %new = exec.input "new" : memref<64xf32>
  exec.copy ins(%new : memref<64xf32>) outs(%a : memref<64xf32>)
}

// -----

// The gathered values are needed for a short time only, and not when the step needs the most memory.
// CHECK: exec.variable @w parameter : memref<64xf32> {shards = 2 : i64}
// CHECK-LABEL: exec.entry @short
// CHECK: exec.alloc : memref<128xf32>
// REMARK: remark: [Missed] KeptCopies | Category:exec-gather-in-place | Remark="short: 1 operands are gathered into the arena: in place, the largest live set and the gathered variables would grow from 2560 to 2816 bytes"
exec.variable @w parameter : memref<64xf32> {shards = 2 : i64}
exec.entry @short mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.alloc : memref<128xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  %y = exec.output "y" output : memref<128xf32>
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
  %x = exec.input "x" : memref<256xf32>
  %large = exec.alloc : memref<256xf32>
  exec.copy ins(%x : memref<256xf32>) outs(%large : memref<256xf32>)
  %other = exec.alloc : memref<256xf32>
  exec.copy ins(%large : memref<256xf32>) outs(%other : memref<256xf32>)
  %z = exec.output "z" output : memref<256xf32>
  exec.copy ins(%other : memref<256xf32>) outs(%z : memref<256xf32>)
}

// -----

// An update before the last read of the gathered values would change them.
// CHECK: exec.variable @w parameter : memref<64xf32> {shards = 2 : i64}
// CHECK-LABEL: exec.entry @early
// CHECK: exec.alloc : memref<128xf32>
// REMARK-NOT: remark:
exec.variable @w parameter : memref<64xf32> {shards = 2 : i64}
exec.entry @early mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.alloc : memref<128xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  %new = exec.input "new" : memref<64xf32>
  exec.copy ins(%new : memref<64xf32>) outs(%w : memref<64xf32>)
  %y = exec.output "y" output : memref<128xf32>
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
}

// -----

// Another command writes the target.
// CHECK-LABEL: exec.entry @written
// CHECK: exec.alloc : memref<128xf32>
exec.variable @w parameter : memref<64xf32> {shards = 2 : i64}
exec.entry @written mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.alloc : memref<128xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  %x = exec.input "x" : memref<128xf32>
  exec.copy ins(%x : memref<128xf32>) outs(%all : memref<128xf32>)
  %y = exec.output "y" output : memref<128xf32>
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
}

// -----

// An evaluation leaves variables as they are. Outputs, parts of odd sizes, and values that are not variables are gathered
// with copies.
// CHECK-LABEL: exec.entry @evaluate
// CHECK: exec.alloc : memref<128xf32>
// CHECK-LABEL: exec.entry @others
// CHECK-NOT: exec.get gathered
exec.variable @w parameter : memref<64xf32> {shards = 2 : i64}
exec.variable @odd parameter : memref<48xf32> {shards = 2 : i64}
exec.entry @evaluate mode<forward> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.alloc : memref<128xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  %y = exec.output "y" output : memref<128xf32>
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
}
exec.entry @others mode<train> {
  %w = exec.get @w : memref<64xf32>
  %odd = exec.get @odd : memref<48xf32>
  %x = exec.input "x" : memref<64xf32>
  %half = exec.view %w : memref<64xf32> to memref<32xf32>
  %all = exec.output "all" output : memref<128xf32>
  %all_odd = exec.alloc : memref<96xf32>
  %all_x = exec.alloc : memref<128xf32>
  %halves = exec.alloc : memref<64xf32>
  exec.collective all_gather ins(%w, %odd, %x, %half : memref<64xf32>, memref<48xf32>, memref<64xf32>, memref<32xf32>) outs(%all, %all_odd, %all_x, %halves : memref<128xf32>, memref<96xf32>, memref<128xf32>, memref<64xf32>) group = 2
}
