// Computation waits for freed memory only where the largest live set would grow otherwise.
// RUN: cs336-opt %s --exec-assign-streams --exec-plan-memory --mlir-print-debuginfo=false --pass-statistics 2>%t.statistics | FileCheck %s
// RUN: FileCheck %s --check-prefix=COUNT --input-file=%t.statistics
// RUN: cs336-opt %s --exec-plan-memory --mlir-print-debuginfo=false | FileCheck %s --check-prefix=ONE
// RUN: cs336-opt %s --exec-assign-streams --remarks-filter-analyse=exec-assign-streams --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=MemoryWait

// COUNT: exec-assign-streams num-memory-waits 1

// The largest live set is that of %big, 1152 bytes. The gradients up to %c and their means fit into it without a wait:
// 1024 bytes. With %d, 1408 bytes would be in use. The wait for the first collective suffices, although the second one
// has been enqueued for as long as a collective must be before computation waits for its memory.
// CHECK-LABEL: exec.entry @larger_before mode<train> arena_bytes = 1152
// CHECK: exec.collective reduce_scatter mean ins(%a :
// CHECK-NEXT: exec.record [[A:[0-9]+]] {stream = 1 : i64}
// CHECK-NOT: exec.wait {{[0-9]+$}}
// CHECK: exec.copy {{.*}} outs(%c :
// CHECK-NOT: exec.wait {{[0-9]+$}}
// CHECK: exec.collective reduce_scatter mean ins(%c :
// CHECK-NOT: exec.copy
// CHECK: exec.wait [[A]]{{$}}
// CHECK-NEXT: exec.copy {{.*}} outs(%d :
// CHECK: exec.collective reduce_scatter mean ins(%d :
// ONE-LABEL: exec.entry @larger_before mode<train> arena_bytes = 1152
// REMARK: loc("fourth"): [Analysis] MemoryWait | {{.*}}Remark="waits for memory that reduce_scatter_first frees: otherwise 1408 bytes would be in use; the largest live set of one stream is 1152 bytes"
exec.variable @p parameter : memref<288xf32>
exec.variable @m parameter : memref<32xf32>
exec.entry @larger_before mode<train> {
  %w = exec.input "w" : memref<288xf32>
  %x = exec.input "x" : memref<64xf32>
  %p = exec.get @p : memref<288xf32>
  %m = exec.get @m : memref<32xf32>
  %big = exec.alloc : memref<288xf32> loc("big")
  exec.copy ins(%w : memref<288xf32>) outs(%big : memref<288xf32>)
  exec.copy ins(%big : memref<288xf32>) outs(%p : memref<288xf32>)
  %a = exec.alloc : memref<64xf32> loc("a")
  exec.copy ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  %ap = exec.alloc : memref<32xf32> loc("ap")
  exec.collective reduce_scatter mean ins(%a : memref<64xf32>) outs(%ap : memref<32xf32>) group = 2 loc("first")
  %b = exec.alloc : memref<64xf32> loc("b")
  exec.copy ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
  %bp = exec.alloc : memref<32xf32> loc("bp")
  exec.collective reduce_scatter mean ins(%b : memref<64xf32>) outs(%bp : memref<32xf32>) group = 2
  %c = exec.alloc : memref<64xf32> loc("c")
  exec.copy ins(%x : memref<64xf32>) outs(%c : memref<64xf32>)
  %cp = exec.alloc : memref<32xf32> loc("cp")
  exec.collective reduce_scatter mean ins(%c : memref<64xf32>) outs(%cp : memref<32xf32>) group = 2
  %d = exec.alloc : memref<64xf32> loc("d")
  exec.copy ins(%x : memref<64xf32>) outs(%d : memref<64xf32>) loc("fourth")
  %dp = exec.alloc : memref<32xf32> loc("dp")
  exec.collective reduce_scatter mean ins(%d : memref<64xf32>) outs(%dp : memref<32xf32>) group = 2
  exec.copy ins(%ap : memref<32xf32>) outs(%m : memref<32xf32>)
  exec.copy ins(%bp : memref<32xf32>) outs(%m : memref<32xf32>)
  exec.copy ins(%cp : memref<32xf32>) outs(%m : memref<32xf32>)
  exec.copy ins(%dp : memref<32xf32>) outs(%m : memref<32xf32>)
}
