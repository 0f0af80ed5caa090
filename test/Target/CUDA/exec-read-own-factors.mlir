// RUN: cs336-opt --exec-read-own-factors=growth-percent=100 --mlir-print-debuginfo=false %s | FileCheck %s
// RUN: cs336-opt --exec-read-own-factors=growth-percent=100 %s -o %t.once.mlir
// RUN: cs336-opt --exec-read-own-factors=growth-percent=100 %t.once.mlir | diff %t.once.mlir -
// RUN: cs336-opt --exec-read-own-factors=growth-percent=100 --pass-statistics %s 2>&1 >/dev/null | FileCheck %s --check-prefix=COUNTS
// RUN: cs336-opt --exec-read-own-factors=growth-percent=100 --remarks-filter=exec-read-own-factors %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt --exec-read-own-factors=growth-percent=0 --remarks-filter=exec-read-own-factors %s 2>&1 >/dev/null | FileCheck %s --check-prefix=GROWTH

// COUNTS: exec-read-own-factors num-collectives {{ *}}6  Number of collectives that no longer copy own factors
// COUNTS: exec-read-own-factors num-launches {{ *}}4  Number of launches that read own factors where they are

// REMARK: [Passed] Read
// REMARK-SAME: 1 launches read own factors where they are, so that 2 collectives do not copy them
// REMARK: [Passed] Read
// REMARK: [Passed] Read
// REMARK-NOT: [Passed]

// While @negate runs, the own factors that live until the launch need more memory than copies of them.
// GROWTH: [Missed] Copied
// GROWTH-SAME: 1 launches read copies of own factors: the largest live set would grow from 40960 to 45056 bytes

// The kernel reads two parts of each factor. The tokens of this rank are first.
// CHECK: exec.kernel @[[UPDATE:matmul_cast_sub_[0-9a-f]+]](%[[P:.*]]: tensor<64x128xf32>, %[[L0:.*]]: tensor<64x32xbf16>, %[[L1:.*]]: tensor<64x32xbf16>, %[[R0:.*]]: tensor<32x128xbf16>, %[[R1:.*]]: tensor<32x128xbf16>)
// CHECK-SAME: memref<64x128xf32>, memref<64x32xbf16, strided<[1, 128]>>, memref<64x32xbf16, strided<[1, 64]>>, memref<32x128xbf16>, memref<32x128xbf16>
// CHECK: %[[L:.*]] = cs336.concat axis = 1 %[[L0]], %[[L1]]
// CHECK: %[[R:.*]] = cs336.concat axis = 0 %[[R0]], %[[R1]]
// CHECK: cs336.matmul %[[L]], %[[R]]

exec.variable @v parameter : memref<64x128xf32>
exec.variable @w parameter : memref<64x128xf32>

exec.kernel @matmul_cast_sub_0(%p: tensor<64x128xf32>, %l: tensor<64x64xbf16>, %r: tensor<64x128xbf16>)
    : (memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) -> memref<64x128xf32> {
  %g = cs336.matmul %l, %r : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xbf16>
  %c = cs336.cast %g : tensor<64x128xbf16> -> tensor<64x128xf32>
  %d = cs336.sub %p, %c : tensor<64x128xf32>
  exec.yield %d : tensor<64x128xf32>
}
exec.kernel @matmul_cast_sub_batch_0(%p0: tensor<64x128xf32>, %l0: tensor<64x64xbf16>, %r0: tensor<64x128xbf16>, %p1: tensor<64x128xf32>, %l1: tensor<64x64xbf16>, %r1: tensor<64x128xbf16>)
    : (memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>, memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>)
    -> (memref<64x128xf32>, memref<64x128xf32>) {
  %g0 = cs336.matmul %l0, %r0 : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xbf16>
  %c0 = cs336.cast %g0 : tensor<64x128xbf16> -> tensor<64x128xf32>
  %d0 = cs336.sub %p0, %c0 : tensor<64x128xf32>
  %g1 = cs336.matmul %l1, %r1 : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xbf16>
  %c1 = cs336.cast %g1 : tensor<64x128xbf16> -> tensor<64x128xf32>
  %d1 = cs336.sub %p1, %c1 : tensor<64x128xf32>
  exec.yield %d0, %d1 : tensor<64x128xf32>, tensor<64x128xf32>
}
exec.kernel @negate(%x: tensor<32x128xbf16>) : (memref<32x128xbf16>) -> memref<32x128xbf16> {
  %0 = cs336.neg %x : tensor<32x128xbf16>
  exec.yield %0 : tensor<32x128xbf16>
}
exec.kernel @negate_all(%x: tensor<64x128xbf16>) : (memref<64x128xbf16>) -> memref<64x128xbf16> {
  %0 = cs336.neg %x : tensor<64x128xbf16>
  exec.yield %0 : tensor<64x128xbf16>
}

// The own part of the left factor is columns of its source, at a place that depends on the rank.
// CHECK-LABEL: exec.entry @update
// CHECK: exec.collective all_to_all others ins(%{{.*}} : memref<2x32x64xbf16, strided<[64, 128, 1]>>) outs(%[[DY:.*]] : memref<1x32x64xbf16>) group = 2
// CHECK: exec.collective all_gather others ins(%[[X:.*]] : memref<32x128xbf16>) outs(%[[XS:.*]] : memref<32x128xbf16>) group = 2
// CHECK: %[[PARTS:.*]] = exec.view %{{.*}} : memref<32x128xbf16> to memref<2x64x32xbf16, strided<[64, 1, 128]>>
// CHECK: %[[OWN:.*]] = exec.part %[[PARTS]] : memref<2x64x32xbf16, strided<[64, 1, 128]>> -> memref<64x32xbf16, strided<[1, 128]>>
// CHECK: %[[LEFT:.*]] = exec.view %[[DY]] : memref<1x32x64xbf16> to memref<64x32xbf16, strided<[1, 64]>>
// CHECK: exec.launch @[[UPDATE]] ins(%{{.*}}, %[[OWN]], %[[LEFT]], %[[X]], %[[XS]] :
exec.entry @update mode<train> {
  %given = exec.input "x" : memref<32x128xbf16>
  %w = exec.get @w : memref<64x128xf32>
  %x = exec.alloc : memref<32x128xbf16>
  %dy = exec.alloc : memref<32x128xbf16>
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%x : memref<32x128xbf16>)
  exec.launch @negate ins(%x : memref<32x128xbf16>) outs(%dy : memref<32x128xbf16>)
  %parts = exec.view %dy : memref<32x128xbf16> to memref<2x32x64xbf16, strided<[64, 128, 1]>>
  %dys = exec.alloc : memref<2x32x64xbf16>
  exec.collective all_to_all ins(%parts : memref<2x32x64xbf16, strided<[64, 128, 1]>>) outs(%dys : memref<2x32x64xbf16>) group = 2
  %xs = exec.alloc : memref<64x128xbf16>
  exec.collective all_gather ins(%x : memref<32x128xbf16>) outs(%xs : memref<64x128xbf16>) group = 2
  %t = exec.alloc : memref<32x128xbf16>
  %u = exec.alloc : memref<32x128xbf16>
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%t : memref<32x128xbf16>)
  exec.launch @negate ins(%t : memref<32x128xbf16>) outs(%u : memref<32x128xbf16>)
  %left = exec.view %dys : memref<2x32x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  exec.launch @matmul_cast_sub_0 ins(%w, %left, %xs : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%w : memref<64x128xf32>)
}

// Two matmuls have the same left factor, one view.
// CHECK-LABEL: exec.entry @shared
// CHECK: exec.collective all_to_all others
// CHECK: exec.collective all_gather others
// CHECK: exec.launch @[[UPDATE]]
// CHECK: exec.launch @matmul_cast_sub_batch_{{[0-9a-f]+}} ins(%{{.*}}, %[[O0:.*]], %[[L0:.*]], %[[X0:.*]], %[[XS0:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[X0]], %[[XS0]] :
exec.entry @shared mode<train> {
  %given = exec.input "x" : memref<32x128xbf16>
  %v = exec.get @v : memref<64x128xf32>
  %w = exec.get @w : memref<64x128xf32>
  %x = exec.alloc : memref<32x128xbf16>
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%x : memref<32x128xbf16>)
  %parts = exec.view %x : memref<32x128xbf16> to memref<2x32x64xbf16, strided<[64, 128, 1]>>
  %dys = exec.alloc : memref<2x32x64xbf16>
  exec.collective all_to_all ins(%parts : memref<2x32x64xbf16, strided<[64, 128, 1]>>) outs(%dys : memref<2x32x64xbf16>) group = 2
  %xs = exec.alloc : memref<64x128xbf16>
  exec.collective all_gather ins(%x : memref<32x128xbf16>) outs(%xs : memref<64x128xbf16>) group = 2
  %left = exec.view %dys : memref<2x32x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  exec.launch @matmul_cast_sub_0 ins(%w, %left, %xs : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%w : memref<64x128xf32>)
  exec.launch @matmul_cast_sub_batch_0 ins(%v, %left, %xs, %w, %left, %xs : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>, memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%v, %w : memref<64x128xf32>, memref<64x128xf32>)
}

// Another command reads all of the right factor, so both factors stay as they are.
// CHECK-LABEL: exec.entry @another_reader
// CHECK-NOT: others
// CHECK: exec.launch @matmul_cast_sub_0
exec.entry @another_reader mode<train> {
  %given = exec.input "x" : memref<32x128xbf16>
  %y = exec.output "y" output : memref<64x128xbf16>
  %w = exec.get @w : memref<64x128xf32>
  %x = exec.alloc : memref<32x128xbf16>
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%x : memref<32x128xbf16>)
  %parts = exec.view %x : memref<32x128xbf16> to memref<2x32x64xbf16, strided<[64, 128, 1]>>
  %dys = exec.alloc : memref<2x32x64xbf16>
  exec.collective all_to_all ins(%parts : memref<2x32x64xbf16, strided<[64, 128, 1]>>) outs(%dys : memref<2x32x64xbf16>) group = 2
  %xs = exec.alloc : memref<64x128xbf16>
  exec.collective all_gather ins(%x : memref<32x128xbf16>) outs(%xs : memref<64x128xbf16>) group = 2
  exec.launch @negate_all ins(%xs : memref<64x128xbf16>) outs(%y : memref<64x128xbf16>)
  %left = exec.view %dys : memref<2x32x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  exec.launch @matmul_cast_sub_0 ins(%w, %left, %xs : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%w : memref<64x128xf32>)
}

// Another command reads the second operand of the all_gather, so this one has a collective of its own.
// CHECK-LABEL: exec.entry @two_operands
// CHECK: exec.collective all_gather ins(%[[Z:.*]] : memref<32x128xbf16>) outs(%[[ZS:.*]] : memref<64x128xbf16>) group = 2
// CHECK-NEXT: exec.collective all_gather others ins(%[[X:.*]] : memref<32x128xbf16>) outs(%[[XS:.*]] : memref<32x128xbf16>) group = 2
// CHECK-NEXT: exec.launch @negate_all ins(%[[ZS]] : memref<64x128xbf16>)
// CHECK: exec.launch @[[UPDATE]] ins(%{{.*}}, %{{.*}}, %{{.*}}, %[[X]], %[[XS]] :
exec.entry @two_operands mode<train> {
  %given = exec.input "x" : memref<32x128xbf16>
  %y = exec.output "y" output : memref<64x128xbf16>
  %w = exec.get @w : memref<64x128xf32>
  %x = exec.alloc : memref<32x128xbf16>
  %z = exec.alloc : memref<32x128xbf16>
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%x : memref<32x128xbf16>)
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%z : memref<32x128xbf16>)
  %parts = exec.view %x : memref<32x128xbf16> to memref<2x32x64xbf16, strided<[64, 128, 1]>>
  %dys = exec.alloc : memref<2x32x64xbf16>
  exec.collective all_to_all ins(%parts : memref<2x32x64xbf16, strided<[64, 128, 1]>>) outs(%dys : memref<2x32x64xbf16>) group = 2
  %xs = exec.alloc : memref<64x128xbf16>
  %zs = exec.alloc : memref<64x128xbf16>
  exec.collective all_gather ins(%x, %z : memref<32x128xbf16>, memref<32x128xbf16>) outs(%xs, %zs : memref<64x128xbf16>, memref<64x128xbf16>) group = 2
  exec.launch @negate_all ins(%zs : memref<64x128xbf16>) outs(%y : memref<64x128xbf16>)
  %left = exec.view %dys : memref<2x32x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  exec.launch @matmul_cast_sub_0 ins(%w, %left, %xs : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%w : memref<64x128xf32>)
}

// A command overwrites the source of the right factor before the launch.
// CHECK-LABEL: exec.entry @overwritten
// CHECK-NOT: others
// CHECK: exec.launch @matmul_cast_sub_0
exec.entry @overwritten mode<train> {
  %given = exec.input "x" : memref<32x128xbf16>
  %w = exec.get @w : memref<64x128xf32>
  %x = exec.alloc : memref<32x128xbf16>
  %dy = exec.alloc : memref<32x128xbf16>
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%x : memref<32x128xbf16>)
  exec.launch @negate ins(%x : memref<32x128xbf16>) outs(%dy : memref<32x128xbf16>)
  %parts = exec.view %dy : memref<32x128xbf16> to memref<2x32x64xbf16, strided<[64, 128, 1]>>
  %dys = exec.alloc : memref<2x32x64xbf16>
  exec.collective all_to_all ins(%parts : memref<2x32x64xbf16, strided<[64, 128, 1]>>) outs(%dys : memref<2x32x64xbf16>) group = 2
  %xs = exec.alloc : memref<64x128xbf16>
  exec.collective all_gather ins(%x : memref<32x128xbf16>) outs(%xs : memref<64x128xbf16>) group = 2
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%x : memref<32x128xbf16>)
  %left = exec.view %dys : memref<2x32x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  exec.launch @matmul_cast_sub_0 ins(%w, %left, %xs : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%w : memref<64x128xf32>)
}

// One of two launches that read a factor also reads one that no collective writes, so neither changes.
// CHECK-LABEL: exec.entry @another_factor
// CHECK-NOT: others
// CHECK: exec.launch @matmul_cast_sub_0
// CHECK: exec.launch @matmul_cast_sub_0
exec.entry @another_factor mode<train> {
  %given = exec.input "x" : memref<32x128xbf16>
  %all = exec.input "all" : memref<64x128xbf16>
  %w = exec.get @w : memref<64x128xf32>
  %x = exec.alloc : memref<32x128xbf16>
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%x : memref<32x128xbf16>)
  %parts = exec.view %x : memref<32x128xbf16> to memref<2x32x64xbf16, strided<[64, 128, 1]>>
  %dys = exec.alloc : memref<2x32x64xbf16>
  exec.collective all_to_all ins(%parts : memref<2x32x64xbf16, strided<[64, 128, 1]>>) outs(%dys : memref<2x32x64xbf16>) group = 2
  %xs = exec.alloc : memref<64x128xbf16>
  exec.collective all_gather ins(%x : memref<32x128xbf16>) outs(%xs : memref<64x128xbf16>) group = 2
  %left = exec.view %dys : memref<2x32x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  exec.launch @matmul_cast_sub_0 ins(%w, %left, %xs : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%w : memref<64x128xf32>)
  exec.launch @matmul_cast_sub_0 ins(%w, %left, %all : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%w : memref<64x128xf32>)
}

// The own tokens do not start at a multiple of 16 bytes.
// CHECK-LABEL: exec.entry @misaligned
// CHECK-NOT: others
// CHECK: exec.launch @matmul_cast_sub_0
exec.entry @misaligned mode<train> {
  %given = exec.input "x" : memref<32x128xbf16>
  %w = exec.get @w : memref<64x128xf32>
  %x = exec.alloc : memref<32x128xbf16>
  exec.launch @negate ins(%given : memref<32x128xbf16>) outs(%x : memref<32x128xbf16>)
  %parts = exec.view %x : memref<32x128xbf16> to memref<2x32x64xbf16, strided<[64, 128, 1]>>
  %dys = exec.alloc : memref<2x32x64xbf16>
  exec.collective all_to_all ins(%parts : memref<2x32x64xbf16, strided<[64, 128, 1]>>) outs(%dys : memref<2x32x64xbf16>) group = 2
  %storage = exec.alloc : memref<4100xbf16>
  %y = exec.view %storage : memref<4100xbf16> to memref<32x128xbf16, strided<[128, 1], offset: 4>>
  exec.copy ins(%x : memref<32x128xbf16>) outs(%y : memref<32x128xbf16, strided<[128, 1], offset: 4>>)
  %ys = exec.alloc : memref<64x128xbf16>
  exec.collective all_gather ins(%y : memref<32x128xbf16, strided<[128, 1], offset: 4>>) outs(%ys : memref<64x128xbf16>) group = 2
  %left = exec.view %dys : memref<2x32x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  exec.launch @matmul_cast_sub_0 ins(%w, %left, %ys : memref<64x128xf32>, memref<64x64xbf16, strided<[1, 64]>>, memref<64x128xbf16>) outs(%w : memref<64x128xf32>)
}
