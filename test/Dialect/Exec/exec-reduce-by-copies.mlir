// RUN: cs336-opt %s --exec-reduce-by-copies=min-bytes=4096 --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --exec-reduce-by-copies -o %t.default.mlir
// RUN: cs336-opt %s | diff - %t.default.mlir
// RUN: cs336-opt %s --exec-reduce-by-copies=min-bytes=4096 -o %t.once.mlir
// RUN: cs336-opt %t.once.mlir --exec-reduce-by-copies=min-bytes=4096 | diff - %t.once.mlir
// RUN: cs336-opt %s --exec-reduce-by-copies=min-bytes=4096 --exec-assign-streams --exec-plan-memory=alignment=256 -o /dev/null
// RUN: not cs336-opt %s --exec-reduce-by-copies=min-bytes=0 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: min-bytes must be at least 1, is 0

// Equal kernels are one. It adds in the order of ranks, in f32, and rounds once.
// CHECK-LABEL: exec.kernel @mean_of_ranks_
// CHECK-SAME: (%[[A:.*]]: tensor<1024xbf16>, %[[B:.*]]: tensor<1024xbf16>)
// CHECK: %[[WIDE_A:.*]] = cs336.cast %[[A]] : tensor<1024xbf16> -> tensor<1024xf32>
// CHECK-NEXT: %[[WIDE_B:.*]] = cs336.cast %[[B]]
// CHECK-NEXT: %[[SUM:.*]] = cs336.add %[[WIDE_A]], %[[WIDE_B]]
// CHECK-NEXT: %[[TWO:.*]] = cs336.constant dense<2.000000e+00>
// CHECK-NEXT: %[[MEAN:.*]] = cs336.div %[[SUM]], %[[TWO]]
// CHECK-NEXT: %[[ROUNDED:.*]] = cs336.cast %[[MEAN]] : tensor<1024xf32> -> tensor<1024xbf16>
// CHECK-NEXT: exec.yield %[[ROUNDED]]
// CHECK-NOT: exec.kernel

exec.kernel @fill(%x: tensor<64x32xbf16>) : (memref<64x32xbf16>) -> memref<64x32xbf16> {
  exec.yield %x : tensor<64x32xbf16>
}
exec.kernel @fill32(%x: tensor<2048xf32>) : (memref<2048xf32>) -> memref<2048xf32> {
  exec.yield %x : tensor<2048xf32>
}
exec.kernel @odd(%x: tensor<2049xf32>) : (memref<2049xf32>) -> memref<2049xf32> {
  exec.yield %x : tensor<2049xf32>
}

// CHECK-LABEL: exec.entry @mean
exec.entry @mean mode<forward> {
  %x = exec.input "x" : memref<64x32xbf16>
  %g = exec.output "g" output : memref<64x32xbf16>
  %h = exec.output "h" output : memref<64x32xbf16>
  exec.launch @fill ins(%x : memref<64x32xbf16>) outs(%g : memref<64x32xbf16>)
  // CHECK: exec.launch @fill
  // CHECK-NEXT: exec.launch @fill ins({{.*}}) outs(%[[H:.*]] : memref<64x32xbf16>)
  // CHECK-NEXT: %[[FLAT_G:.*]] = exec.view %{{.*}} : memref<64x32xbf16> to memref<2048xbf16>
  // CHECK-NEXT: %[[GOT_G:.*]] = exec.alloc : memref<2048xbf16>
  // CHECK-NEXT: %[[FLAT_H:.*]] = exec.view %[[H]]
  // CHECK-NEXT: %[[GOT_H:.*]] = exec.alloc : memref<2048xbf16>
  // CHECK-NEXT: exec.collective all_to_all ins(%[[FLAT_G]], %[[FLAT_H]] : memref<2048xbf16>, memref<2048xbf16>) outs(%[[GOT_G]], %[[GOT_H]] : {{.*}}) group = 2
  // CHECK: %[[PART_G:.*]] = exec.alloc : memref<1024xbf16>
  // CHECK: %[[PART_H:.*]] = exec.alloc : memref<1024xbf16>
  // CHECK: %[[FIRST:.*]] = exec.view %[[GOT_G]] : memref<2048xbf16> to memref<1024xbf16>
  // CHECK-NEXT: %[[SECOND:.*]] = exec.view %[[GOT_G]] : memref<2048xbf16> to memref<1024xbf16, strided<[1], offset: 1024>>
  // CHECK-NEXT: exec.launch @mean_of_ranks_[[NAME:.*]] ins(%[[FIRST]], %[[SECOND]] : {{.*}}) outs(%[[PART_G]] : memref<1024xbf16>)
  // CHECK: exec.launch @mean_of_ranks_[[NAME]] ins({{.*}}) outs(%[[PART_H]] : memref<1024xbf16>)
  // CHECK: exec.collective all_gather ins(%[[PART_G]], %[[PART_H]] : {{.*}}) outs(%{{.*}}, %{{.*}} : memref<2048xbf16>, memref<2048xbf16>) group = 2
  // CHECK-NOT: all_reduce
  exec.launch @fill ins(%x : memref<64x32xbf16>) outs(%h : memref<64x32xbf16>)
  exec.collective all_reduce mean ins(%g, %h : memref<64x32xbf16>, memref<64x32xbf16>) outs(%g, %h : memref<64x32xbf16>, memref<64x32xbf16>) group = 2
}

// A sum of f32 is not divided, and needs no conversion.
// CHECK-LABEL: exec.kernel @sum_of_ranks_
// CHECK-SAME: tensor<512xf32>
// CHECK-NEXT: cs336.add
// CHECK-NEXT: cs336.add
// CHECK-NEXT: cs336.add
// CHECK-NEXT: exec.yield

// Small operands, operands that cannot be divided, and other reductions stay.
// CHECK-LABEL: exec.entry @some
exec.entry @some mode<forward> {
  %x = exec.input "x" : memref<2048xf32>
  %y = exec.input "y" : memref<2049xf32>
  %small = exec.input "small" : memref<8xf32>
  %g = exec.output "g" output : memref<512xf32>
  %odd = exec.output "odd" output : memref<2049xf32>
  %s = exec.output "s" output : memref<2xf32>
  %most = exec.output "most" output : memref<2048xf32>
  // CHECK: exec.collective all_to_all ins(%x : memref<2048xf32>) outs(%[[ALL:.*]] : memref<2048xf32>) group = 4
  // CHECK: exec.launch @sum_of_ranks_{{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) outs(%g : memref<512xf32>)
  // CHECK-NEXT: exec.collective reduce_scatter sum ins(%small : memref<8xf32>) outs(%s : memref<2xf32>) group = 4
  exec.collective reduce_scatter sum ins(%x, %small : memref<2048xf32>, memref<8xf32>) outs(%g, %s : memref<512xf32>, memref<2xf32>) group = 4
  // CHECK-NEXT: exec.launch @odd
  // CHECK-NEXT: exec.collective all_reduce mean ins(%odd : memref<2049xf32>)
  exec.launch @odd ins(%y : memref<2049xf32>) outs(%odd : memref<2049xf32>)
  exec.collective all_reduce mean ins(%odd : memref<2049xf32>) outs(%odd : memref<2049xf32>) group = 4
  // CHECK-NEXT: exec.collective all_reduce max
  exec.collective all_reduce max ins(%x : memref<2048xf32>) outs(%most : memref<2048xf32>) group = 4
  // CHECK-NEXT: }
}
