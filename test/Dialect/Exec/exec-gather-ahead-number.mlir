// The number of gathers that run at the end of the step before depends on the predicted time of the step.
// RUN: cs336-opt %s --exec-gather-ahead='percent=100' --remarks-filter=exec-gather-ahead --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s
// RUN: cs336-opt %s --exec-gather-ahead='percent=100 link-ratio=400' --remarks-filter=exec-gather-ahead --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLOW

// The first gather delays the forward pass. The others run beside it, unless they are slow. Nothing runs beside the last
// one at the end of the step.
// CHECK: 1 of 3 gathers follow the updates
// SLOW: 2 of 3 gathers follow the updates
exec.variable @a parameter : memref<65536xf32> {gathered, shards = 2 : i64}
exec.variable @b parameter : memref<65536xf32> {gathered, shards = 2 : i64}
exec.variable @c parameter : memref<65536xf32> {gathered, shards = 2 : i64}
exec.entry @train mode<train> {
  %a = exec.get @a : memref<65536xf32>
  %b = exec.get @b : memref<65536xf32>
  %c = exec.get @c : memref<65536xf32>
  %all_a = exec.get gathered @a : memref<131072xf32>
  %all_b = exec.get gathered @b : memref<131072xf32>
  %all_c = exec.get gathered @c : memref<131072xf32>
  %x = exec.input "x" : memref<16777216xf32>
  %y = exec.output "y" output : memref<16777216xf32>
  %z = exec.output "z" output : memref<16777216xf32>
  %sum = exec.alloc : memref<131072xf32>
  %grad = exec.alloc : memref<131072xf32>
  %da = exec.alloc : memref<65536xf32>
  %db = exec.alloc : memref<65536xf32>
  %dc = exec.alloc : memref<65536xf32>
  exec.collective all_gather ins(%a : memref<65536xf32>) outs(%all_a : memref<131072xf32>) group = 2
  exec.collective all_gather ins(%b : memref<65536xf32>) outs(%all_b : memref<131072xf32>) group = 2
  exec.collective all_gather ins(%c : memref<65536xf32>) outs(%all_c : memref<131072xf32>) group = 2
  exec.copy ins(%all_a : memref<131072xf32>) outs(%sum : memref<131072xf32>)
  exec.copy ins(%x : memref<16777216xf32>) outs(%z : memref<16777216xf32>)
  exec.copy ins(%sum : memref<131072xf32>) outs(%grad : memref<131072xf32>)
  exec.collective reduce_scatter mean ins(%grad : memref<131072xf32>) outs(%dc : memref<65536xf32>) group = 2
  exec.collective reduce_scatter mean ins(%grad : memref<131072xf32>) outs(%db : memref<65536xf32>) group = 2
  exec.collective reduce_scatter mean ins(%grad : memref<131072xf32>) outs(%da : memref<65536xf32>) group = 2
  exec.copy ins(%da : memref<65536xf32>) outs(%a : memref<65536xf32>)
  exec.copy ins(%db : memref<65536xf32>) outs(%b : memref<65536xf32>)
  exec.copy ins(%dc : memref<65536xf32>) outs(%c : memref<65536xf32>)
  exec.copy ins(%x : memref<16777216xf32>) outs(%y : memref<16777216xf32>)
}
