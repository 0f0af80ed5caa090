// Operands of an all-reduce become views of one allocation.
// RUN: cs336-opt %s --split-input-file --exec-pack-buckets --mlir-print-debuginfo=false --pass-statistics 2>%t.statistics | FileCheck %s
// RUN: FileCheck %s --check-prefix=COUNT --input-file=%t.statistics
// RUN: cs336-opt %s --split-input-file --exec-pack-buckets > %t.once
// RUN: cs336-opt %s --split-input-file --exec-pack-buckets --exec-pack-buckets | diff - %t.once
// RUN: cs336-opt %s --split-input-file --exec-pack-buckets=alignment=4 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=ALIGN4
// RUN: cs336-opt %s --split-input-file --exec-pack-buckets --remarks-filter=exec-pack-buckets --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt %s --split-input-file --exec-pack-buckets --exec-assign-streams --exec-plan-memory -o /dev/null

// One allocation per element type, where the first part is. The first part whose size is not a multiple of 64 bytes is the
// last, and the second one stays an operand. Views of a part, and views of these, move with it. The operand that is a view
// of a whole allocation leaves nothing behind.
// CHECK-LABEL: exec.entry @bucket
// CHECK: %bucket = exec.alloc : memref<37xf32>
// CHECK-NEXT: %a = exec.view %bucket : memref<37xf32> to memref<5xf32, strided<[1], offset: 32>>
// CHECK-NEXT: exec.copy ins(%x : memref<5xf32>) outs(%a : memref<5xf32, strided<[1], offset: 32>>)
// CHECK-NEXT: %b = exec.view %bucket : memref<37xf32> to memref<4x4xf32>{{$}}
// CHECK-NEXT: exec.copy ins(%m : memref<4x4xf32>) outs(%b :
// CHECK-NEXT: %c = exec.view %bucket : memref<37xf32> to memref<4x4xf32, strided<[4, 1], offset: 16>>
// CHECK-NEXT: %t = exec.view %c : memref<4x4xf32, strided<[4, 1], offset: 16>> to memref<4x4xf32, strided<[1, 4], offset: 16>>
// CHECK-NEXT: %row = exec.view %t : memref<4x4xf32, strided<[1, 4], offset: 16>> to memref<4xf32, strided<[1], offset: 24>>
// CHECK-NEXT: exec.copy ins(%m : memref<4x4xf32>) outs(%t :
// CHECK-NEXT: %d = exec.alloc : memref<5xf32>
// CHECK: %bucket_0 = exec.alloc : memref<64xbf16>
// CHECK-NEXT: %e = exec.view %bucket_0 : memref<64xbf16> to memref<32xbf16>
// CHECK: %f = exec.view %bucket_0 : memref<64xbf16> to memref<32xbf16, strided<[1], offset: 32>>
// CHECK-NOT: %flat
// CHECK: exec.collective all_reduce mean ins(%bucket, %bucket_0, %d, %m : memref<37xf32>, memref<64xbf16>, memref<5xf32>, memref<4x4xf32>) outs(%bucket, %bucket_0, %d, %y : memref<37xf32>, memref<64xbf16>, memref<5xf32>, memref<4x4xf32>) group = 2
// CHECK-NEXT: exec.copy ins(%row : memref<4xf32, strided<[1], offset: 24>>)
// ALIGN4-LABEL: exec.entry @bucket
// ALIGN4: %bucket = exec.alloc : memref<42xf32>
// ALIGN4-NEXT: %a = exec.view %bucket : memref<42xf32> to memref<5xf32>
// ALIGN4: %b = exec.view %bucket : memref<42xf32> to memref<4x4xf32, strided<[4, 1], offset: 5>>
// REMARK: loc("bucket"): [Passed] Packed | Category:exec-pack-buckets | Remark="all_reduce_bucket: 3 operands are one range of 148 bytes"
// REMARK: loc("bucket"): [Passed] Packed | Category:exec-pack-buckets | Remark="all_reduce_bucket: 2 operands are one range of 128 bytes"
// COUNT: exec-pack-buckets num-ranges 2
// COUNT: exec-pack-buckets num-parts 5
exec.entry @bucket mode<forward> {
  %x = exec.input "x" : memref<5xf32>
  %m = exec.input "m" : memref<4x4xf32>
  %h = exec.input "h" : memref<32xbf16>
  %y = exec.output "y" output : memref<4x4xf32>
  %z = exec.output "z" output : memref<4xf32>
  %a = exec.alloc : memref<5xf32> loc("a")
  exec.copy ins(%x : memref<5xf32>) outs(%a : memref<5xf32>)
  %b = exec.alloc : memref<4x4xf32> loc("b")
  exec.copy ins(%m : memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  %c = exec.alloc : memref<4x4xf32> loc("c")
  %t = exec.view %c : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>> loc("t")
  %row = exec.view %t : memref<4x4xf32, strided<[1, 4]>> to memref<4xf32, strided<[1], offset: 8>> loc("row")
  exec.copy ins(%m : memref<4x4xf32>) outs(%t : memref<4x4xf32, strided<[1, 4]>>)
  %d = exec.alloc : memref<5xf32> loc("d")
  exec.copy ins(%x : memref<5xf32>) outs(%d : memref<5xf32>)
  %e = exec.alloc : memref<32xbf16> loc("e")
  exec.copy ins(%h : memref<32xbf16>) outs(%e : memref<32xbf16>)
  %f = exec.alloc : memref<32xbf16> loc("f")
  exec.copy ins(%h : memref<32xbf16>) outs(%f : memref<32xbf16>)
  %flat = exec.view %c : memref<4x4xf32> to memref<16xf32> loc("flat")
  exec.collective all_reduce mean
      ins(%a, %b, %flat, %e, %f, %d, %m : memref<5xf32>, memref<4x4xf32>, memref<16xf32>, memref<32xbf16>, memref<32xbf16>, memref<5xf32>, memref<4x4xf32>)
      outs(%a, %b, %flat, %e, %f, %d, %y : memref<5xf32>, memref<4x4xf32>, memref<16xf32>, memref<32xbf16>, memref<32xbf16>, memref<5xf32>, memref<4x4xf32>)
      group = 2 loc("bucket")
  exec.copy ins(%row : memref<4xf32, strided<[1], offset: 8>>) outs(%z : memref<4xf32>)
}

// -----

// One command writes both parts, and one reads the first part and writes the second. %large is the largest live set, so
// that a longer life of %a takes no memory.
// CHECK-LABEL: exec.entry @commands_of_two_parts
// CHECK: exec.launch @two ins(%x : memref<16xf32>) outs(%a, %b : memref<16xf32>, memref<16xf32, strided<[1], offset: 16>>)
// CHECK: exec.collective all_reduce mean ins(%0 : memref<32xf32>) outs(%0 : memref<32xf32>)
// CHECK-NEXT: exec.copy ins(%a : memref<16xf32>) outs(%b : memref<16xf32, strided<[1], offset: 16>>)
exec.kernel @two(%a: tensor<16xf32>) : (memref<16xf32>) -> (memref<16xf32>, memref<16xf32>) {
  %0 = cs336.neg %a : tensor<16xf32>
  exec.yield %0, %a : tensor<16xf32>, tensor<16xf32>
}
exec.entry @commands_of_two_parts mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %w = exec.input "w" : memref<256xf32>
  %y = exec.output "y" output : memref<16xf32>
  %large = exec.alloc : memref<256xf32> loc("large")
  exec.copy ins(%w : memref<256xf32>) outs(%large : memref<256xf32>)
  %a = exec.alloc : memref<16xf32> loc("a")
  %b = exec.alloc : memref<16xf32> loc("b")
  exec.launch @two ins(%x : memref<16xf32>) outs(%a, %b : memref<16xf32>, memref<16xf32>)
  exec.collective all_reduce mean ins(%a, %b : memref<16xf32>, memref<16xf32>) outs(%a, %b : memref<16xf32>, memref<16xf32>) group = 2
  exec.copy ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  exec.copy ins(%b : memref<16xf32>) outs(%y : memref<16xf32>)
}

// -----

// While %large is in use, %a is written and %b is not: in one range, %b would take memory then.
// CHECK-LABEL: exec.entry @larger
// CHECK: exec.collective all_reduce mean ins(%a, %b : memref<16xf32>, memref<16xf32>)
// REMARK: loc("apart"): [Missed] KeptApart | Category:exec-pack-buckets | Remark="all_reduce_apart: 2 operands stay apart: in one range they would raise the largest live set from 1152 to 1216 bytes"
exec.entry @larger mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %w = exec.input "w" : memref<256xf32>
  %y = exec.output "y" output : memref<16xf32>
  %z = exec.output "z" output : memref<16xf32>
  %large = exec.alloc : memref<256xf32> loc("large")
  exec.copy ins(%w : memref<256xf32>) outs(%large : memref<256xf32>)
  %a = exec.alloc : memref<16xf32> loc("a")
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %part = exec.view %large : memref<256xf32> to memref<16xf32>
  exec.copy ins(%part : memref<16xf32>) outs(%z : memref<16xf32>)
  %b = exec.alloc : memref<16xf32> loc("b")
  exec.copy ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  exec.collective all_reduce mean ins(%a, %b : memref<16xf32>, memref<16xf32>) outs(%a, %b : memref<16xf32>, memref<16xf32>) group = 2 loc("apart")
  exec.copy ins(%a : memref<16xf32>) outs(%y : memref<16xf32>)
}

// -----

// Only all-reduces of allocations: a gather needs other memory, %half is a part of its storage, and the others are a
// variable and an output.
// CHECK-LABEL: exec.entry @others
// CHECK: exec.collective all_gather ins(%a, %b :
// CHECK: exec.collective all_reduce mean ins(%half, %a, %w, %y :
// REMARK-NOT: Packed
exec.variable @w parameter : memref<16xf32>
exec.entry @others mode<train> {
  %x = exec.input "x" : memref<16xf32>
  %w = exec.get @w : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  %a = exec.alloc : memref<16xf32> loc("a")
  %b = exec.alloc : memref<16xf32> loc("b")
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  exec.copy ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  %c = exec.alloc : memref<32xf32> loc("c")
  %d = exec.alloc : memref<32xf32> loc("d")
  exec.collective all_gather ins(%a, %b : memref<16xf32>, memref<16xf32>) outs(%c, %d : memref<32xf32>, memref<32xf32>) group = 2
  %half = exec.view %c : memref<32xf32> to memref<16xf32> loc("half")
  exec.copy ins(%half : memref<16xf32>) outs(%y : memref<16xf32>)
  exec.collective all_reduce mean ins(%half, %a, %w, %y : memref<16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>) outs(%half, %a, %w, %y : memref<16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>) group = 2
}
