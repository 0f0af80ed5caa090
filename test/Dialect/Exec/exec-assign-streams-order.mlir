// After the last collective, commands run in the order of the latest collective that they depend on.
// RUN: cs336-opt %s --exec-assign-streams --mlir-print-debuginfo=false --pass-statistics 2>%t.statistics | FileCheck %s
// RUN: FileCheck %s --check-prefix=COUNT --input-file=%t.statistics
// RUN: cs336-opt %s --exec-assign-streams --exec-plan-memory -o %t.planned.mlir
// RUN: cs336-opt %s --exec-assign-streams --remarks-filter=exec-assign-streams --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// COUNT: exec-assign-streams num-moved 3

// The order keeps the read of %p after its write, the write of %r after the GEMM that reads it, and the write of %q
// after the read under its other name. The buffers are defined before all commands that move.
// CHECK-LABEL: exec.entry @sorted
// CHECK: exec.collective all_reduce mean ins(%c :
// CHECK-NEXT: exec.record [[LAST:[0-9]+]] {stream = 1 : i64}
// CHECK-NEXT: %q_0 = exec.get @q
// CHECK-NEXT: exec.wait [[FIRST:[0-9]+]]{{$}}
// CHECK-NEXT: exec.copy ins(%a : {{.*}} outs(%q :
// CHECK-NEXT: exec.copy ins(%q_0 : {{.*}} outs(%z :
// CHECK-NEXT: exec.wait [[SECOND:[0-9]+]]{{$}}
// CHECK-NEXT: exec.copy ins(%b : {{.*}} outs(%q :
// CHECK-NEXT: exec.wait [[LAST]]{{$}}
// CHECK-NEXT: exec.copy ins(%c : {{.*}} outs(%p :
// CHECK-NEXT: exec.gemm ins(%p, %r : {{.*}} outs(%y :
// CHECK-NEXT: exec.copy ins(%a : {{.*}} outs(%r :
// CHECK-NEXT: exec.copy ins(%b : {{.*}} outs(%y :
// CHECK-NOT: exec.{{copy|gemm|record|wait|collective}}
// REMARK: [Passed] Sorted | Category:exec-assign-streams | {{.*}}Remark="@sorted: 3 commands run ahead of others that depend on later collectives"
exec.variable @p parameter : memref<8x8xf32>
exec.variable @q parameter : memref<8x8xf32>
exec.variable @r parameter : memref<8x8xf32>
exec.variable @y parameter : memref<8x8xf32>
exec.variable @z parameter : memref<8x8xf32>
exec.entry @sorted mode<train> {
  %x = exec.input "x" : memref<8x8xf32>
  %p = exec.get @p : memref<8x8xf32>
  %q = exec.get @q : memref<8x8xf32>
  %r = exec.get @r : memref<8x8xf32>
  %y = exec.get @y : memref<8x8xf32>
  %z = exec.get @z : memref<8x8xf32>
  %a = exec.alloc : memref<8x8xf32> loc("a")
  %b = exec.alloc : memref<8x8xf32> loc("b")
  %c = exec.alloc : memref<8x8xf32> loc("c")
  exec.copy ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>)
  exec.collective all_reduce mean ins(%a : memref<8x8xf32>) outs(%a : memref<8x8xf32>) group = 2
  exec.copy ins(%x : memref<8x8xf32>) outs(%b : memref<8x8xf32>)
  exec.collective all_reduce mean ins(%b : memref<8x8xf32>) outs(%b : memref<8x8xf32>) group = 2
  exec.copy ins(%x : memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  exec.collective all_reduce mean ins(%c : memref<8x8xf32>) outs(%c : memref<8x8xf32>) group = 2
  exec.copy ins(%c : memref<8x8xf32>) outs(%p : memref<8x8xf32>)
  exec.gemm ins(%p, %r : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>)
  exec.copy ins(%a : memref<8x8xf32>) outs(%r : memref<8x8xf32>)
  exec.copy ins(%a : memref<8x8xf32>) outs(%q : memref<8x8xf32>)
  %q2 = exec.get @q : memref<8x8xf32>
  exec.copy ins(%q2 : memref<8x8xf32>) outs(%z : memref<8x8xf32>)
  exec.copy ins(%b : memref<8x8xf32>) outs(%q : memref<8x8xf32>)
  exec.copy ins(%b : memref<8x8xf32>) outs(%y : memref<8x8xf32>)
}

// In the other order, %c would be in use beside %a and %b.
// CHECK-LABEL: exec.entry @memory
// CHECK: exec.collective all_reduce mean ins(%b :
// CHECK: exec.copy ins(%b : {{.*}} outs(%p :
// CHECK-NEXT: exec.copy ins(%a : {{.*}} outs(%c :
// CHECK-NEXT: exec.copy ins(%c : {{.*}} outs(%q :
// REMARK: [Missed] KeptOrder | Category:exec-assign-streams | {{.*}}Remark="@memory: 2 commands stay behind others that depend on later collectives: in another order they would raise the largest live set"
exec.entry @memory mode<train> {
  %x = exec.input "x" : memref<8x8xf32>
  %p = exec.get @p : memref<8x8xf32>
  %q = exec.get @q : memref<8x8xf32>
  %a = exec.alloc : memref<8x8xf32> loc("a")
  %b = exec.alloc : memref<8x8xf32> loc("b")
  %c = exec.alloc : memref<8x8xf32> loc("c")
  exec.copy ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>)
  exec.collective all_reduce mean ins(%a : memref<8x8xf32>) outs(%a : memref<8x8xf32>) group = 2
  exec.copy ins(%x : memref<8x8xf32>) outs(%b : memref<8x8xf32>)
  exec.collective all_reduce mean ins(%b : memref<8x8xf32>) outs(%b : memref<8x8xf32>) group = 2
  exec.copy ins(%b : memref<8x8xf32>) outs(%p : memref<8x8xf32>)
  exec.copy ins(%a : memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  exec.copy ins(%c : memref<8x8xf32>) outs(%q : memref<8x8xf32>)
}
