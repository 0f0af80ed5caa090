// Allocations that are never live at the same time share bytes; others do not.
// RUN: cs336-opt %s --split-input-file --exec-plan-memory --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --exec-plan-memory=alignment=4 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=ALIGN4
// RUN: cs336-opt %s --split-input-file --exec-plan-memory --exec-plan-memory --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --split-input-file --exec-plan-memory --remarks-filter-analyse=exec-plan-memory --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A chain needs two buffers at a time, and the output is the last of them. Sizes are rounded up to the alignment; i1 takes a byte.
// CHECK-LABEL: exec.entry @chain mode<forward> arena_bytes = 128 alignment = 64
// CHECK: %y = exec.output "y" output offset = [[A:[0-9]+]] : memref<5xf32>
// CHECK: %a = exec.alloc offset = [[A]] : memref<5xf32>
// CHECK: %b = exec.alloc offset = [[B:[0-9]+]] : memref<5xf32>
// CHECK: %c = exec.alloc offset = [[A]] : memref<5xf32>
// CHECK: %d = exec.alloc offset = [[B]] : memref<5xf32>
// ALIGN4-LABEL: exec.entry @chain mode<forward> arena_bytes = 40 alignment = 4
// REMARK: @chain: 5 allocations in an arena of 128 bytes; the largest live set is 128 bytes
exec.entry @chain mode<forward> {
  %x = exec.input "x" : memref<5xf32>
  %y = exec.output "y" output : memref<5xf32>
  %a = exec.alloc : memref<5xf32> loc("a")
  exec.copy ins(%x : memref<5xf32>) outs(%a : memref<5xf32>)
  %b = exec.alloc : memref<5xf32> loc("b")
  exec.copy ins(%a : memref<5xf32>) outs(%b : memref<5xf32>)
  %c = exec.alloc : memref<5xf32> loc("c")
  exec.copy ins(%b : memref<5xf32>) outs(%c : memref<5xf32>)
  %d = exec.alloc : memref<5xf32> loc("d")
  exec.copy ins(%c : memref<5xf32>) outs(%d : memref<5xf32>)
  exec.copy ins(%d : memref<5xf32>) outs(%y : memref<5xf32>)
}

// -----

// Scratch shares bytes with what is not needed during the command: here %a's successor, not %a.
// CHECK-LABEL: exec.entry @scratch mode<forward> arena_bytes = 192 alignment = 64
// CHECK: %a = exec.alloc offset = [[A:[0-9]+]] : memref<4x4xf32>
// CHECK: %scratch = exec.alloc offset = [[S:[0-9]+]] : memref<16xf32>
// CHECK: %b = exec.alloc offset = [[S]] : memref<4x4xf32>
exec.entry @scratch mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  %z = exec.output "z" output : memref<4x4xf32>
  %a = exec.alloc : memref<4x4xf32> loc("a")
  exec.copy ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  %w = exec.alloc : memref<16xf32> loc("scratch")
  exec.gemm ins(%a, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%y : memref<4x4xf32>) workspace(%w : memref<16xf32>)
  %b = exec.alloc : memref<4x4xf32> loc("b")
  exec.copy ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  exec.copy ins(%b : memref<4x4xf32>) outs(%z : memref<4x4xf32>)
}

// -----

// Two small ones fit where a large one was; a view's use is a use of its storage; what nothing touches takes no bytes.
// CHECK-LABEL: exec.entry @fit mode<forward> arena_bytes = 1088 alignment = 64
// CHECK: %large = exec.alloc offset = 0 : memref<256xf32>
// CHECK: %kept = exec.alloc offset = 1024 : memref<8xf32>
// CHECK: %small = exec.alloc offset = {{0|512}} : memref<128xf32>
// CHECK: %other = exec.alloc offset = {{0|512}} : memref<128xf32>
// CHECK: %unused = exec.alloc offset = 0 : memref<4096xf32>
exec.entry @fit mode<forward> {
  %x = exec.input "x" : memref<256xf32>
  %y = exec.output "y" output : memref<8xf32>
  %half = exec.view %x : memref<256xf32> to memref<128xf32>
  %large = exec.alloc : memref<256xf32> loc("large")
  %some = exec.view %large : memref<256xf32> to memref<8xf32, strided<[16]>>
  exec.copy ins(%x : memref<256xf32>) outs(%large : memref<256xf32>)
  %kept = exec.alloc : memref<8xf32> loc("kept")
  exec.copy ins(%some : memref<8xf32, strided<[16]>>) outs(%kept : memref<8xf32>)
  %small = exec.alloc : memref<128xf32> loc("small")
  %other = exec.alloc : memref<128xf32> loc("other")
  exec.copy ins(%half : memref<128xf32>) outs(%small : memref<128xf32>)
  exec.copy ins(%small : memref<128xf32>) outs(%other : memref<128xf32>)
  exec.copy ins(%kept : memref<8xf32>) outs(%y : memref<8xf32>)
  %unused = exec.alloc : memref<4096xf32> loc("unused")
}

// -----

// An output may reuse bytes that are dead when it is first written. No later buffer reuses its own bytes.
// CHECK-LABEL: exec.entry @outputs mode<forward> arena_bytes = 3072 alignment = 64
// CHECK: %g = exec.output "g" output offset = [[G:[0-9]+]] : memref<256xf32>
// CHECK-NOT: offset = [[G]] :
// CHECK: %h = exec.output "h" gradient offset = {{[0-9]+}} {views = [#cs336.view<"h0", 256>]} : memref<256xf32>
// CHECK: %a = exec.alloc offset = [[G]] : memref<256xf32>
// CHECK-NOT: offset = [[G]] :
// REMARK: @outputs: 5 allocations in an arena of 3072 bytes; the largest live set is 3072 bytes
exec.entry @outputs mode<forward> {
  %x = exec.input "x" : memref<256xf32>
  %g = exec.output "g" output : memref<256xf32>
  %h = exec.output "h" gradient {views = [#cs336.view<"h0", 256>]} : memref<256xf32>
  %a = exec.alloc : memref<256xf32> loc("a")
  exec.copy ins(%x : memref<256xf32>) outs(%a : memref<256xf32>)
  %b = exec.alloc : memref<256xf32> loc("b")
  exec.copy ins(%a : memref<256xf32>) outs(%b : memref<256xf32>)
  exec.copy ins(%b : memref<256xf32>) outs(%g : memref<256xf32>)
  %c = exec.alloc : memref<256xf32> loc("c")
  exec.copy ins(%x : memref<256xf32>) outs(%c : memref<256xf32>)
  exec.copy ins(%c : memref<256xf32>) outs(%h : memref<256xf32>)
}

// -----

// In the order of commands %a is over before %b starts. On two streams it is not: no event says so.
// CHECK-LABEL: exec.entry @streams mode<forward> arena_bytes = 256
// CHECK: %a = exec.alloc offset = [[A:[0-9]+]] : memref<16xf32>
// CHECK-NOT: %b = exec.alloc offset = [[A]] :
exec.entry @streams mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  %z = exec.output "z" output : memref<16xf32>
  %a = exec.alloc : memref<16xf32> loc("a")
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  exec.copy ins(%a : memref<16xf32>) outs(%y : memref<16xf32>)
  %b = exec.alloc : memref<16xf32> loc("b")
  exec.copy ins(%x : memref<16xf32>) outs(%b : memref<16xf32>) {stream = 1 : i64}
  exec.copy ins(%b : memref<16xf32>) outs(%z : memref<16xf32>) {stream = 1 : i64}
}

// -----

// With an event between the two they share bytes. The event reaches a third stream through the second.
// CHECK-LABEL: exec.entry @events mode<forward> arena_bytes = 256
// CHECK-COUNT-3: exec.alloc offset = 0 : memref<16xf32>
exec.entry @events mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  %z = exec.output "z" output : memref<16xf32>
  %u = exec.output "u" output : memref<16xf32>
  %a = exec.alloc : memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  exec.copy ins(%a : memref<16xf32>) outs(%y : memref<16xf32>)
  exec.record 0
  exec.wait 0 {stream = 1 : i64}
  %b = exec.alloc : memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%b : memref<16xf32>) {stream = 1 : i64}
  exec.copy ins(%b : memref<16xf32>) outs(%z : memref<16xf32>) {stream = 1 : i64}
  exec.record 1 {stream = 1 : i64}
  exec.wait 1 {stream = 7 : i64}
  %c = exec.alloc : memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%c : memref<16xf32>) {stream = 7 : i64}
  exec.copy ins(%c : memref<16xf32>) outs(%u : memref<16xf32>) {stream = 7 : i64}
}

// -----

// A record covers the commands before it, not the last use after it.
// CHECK-LABEL: exec.entry @early_record mode<forward> arena_bytes = 256
exec.entry @early_record mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  %z = exec.output "z" output : memref<16xf32>
  %a = exec.alloc : memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  exec.record 0
  exec.copy ins(%a : memref<16xf32>) outs(%y : memref<16xf32>)
  exec.wait 0 {stream = 1 : i64}
  %b = exec.alloc : memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%b : memref<16xf32>) {stream = 1 : i64}
  exec.copy ins(%b : memref<16xf32>) outs(%z : memref<16xf32>) {stream = 1 : i64}
}
