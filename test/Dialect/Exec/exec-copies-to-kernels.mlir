// Copies of strided buffers become launches; copies of equal layouts share a kernel, and copies of bytes in a row stay.
// RUN: cs336-opt --exec-copies-to-kernels %s | FileCheck %s

// CHECK: exec.kernel @[[KERNEL:copy_[0-9a-f]+]](%[[X:[a-z0-9]+]]: tensor<2x4x8xf32>
// CHECK-SAME: : (memref<2x4x8xf32, strided<[32, 1, 4]>>) -> memref<2x4x8xf32> {
// CHECK-NEXT: exec.yield %[[X]] : tensor<2x4x8xf32>
// CHECK-NOT: exec.kernel
// CHECK: exec.entry @forward
exec.entry @forward mode<forward> {
  %x = exec.input "x" : memref<2x8x4xf32>
  %w = exec.input "w" : memref<4x8x4xf32>
  %y = exec.output "y" output : memref<2x4x8xf32>
  %z = exec.output "z" output : memref<2x4x8xf32>
  %v = exec.output "v" output : memref<2x8x4xf32>
  %u = exec.output "u" output : memref<2x8x4xf32>
  %a = exec.view %x : memref<2x8x4xf32> to memref<2x4x8xf32, strided<[32, 1, 4]>>
  %b = exec.view %w : memref<4x8x4xf32> to memref<2x4x8xf32, strided<[32, 1, 4], offset: 64>>
  %c = exec.view %w : memref<4x8x4xf32> to memref<2x8x4xf32, strided<[32, 4, 1], offset: 64>>
  // CHECK: exec.launch @[[KERNEL]] ins(%{{.*}} : memref<2x4x8xf32, strided<[32, 1, 4]>>) outs(%y : memref<2x4x8xf32>)
  exec.copy ins(%a : memref<2x4x8xf32, strided<[32, 1, 4]>>) outs(%y : memref<2x4x8xf32>)
  // CHECK: exec.launch @[[KERNEL]] ins(%{{.*}} : memref<2x4x8xf32, strided<[32, 1, 4], offset: 64>>) outs(%z : memref<2x4x8xf32>)
  exec.copy ins(%b : memref<2x4x8xf32, strided<[32, 1, 4], offset: 64>>) outs(%z : memref<2x4x8xf32>)
  // CHECK: exec.copy ins(%x : memref<2x8x4xf32>) outs(%v : memref<2x8x4xf32>)
  exec.copy ins(%x : memref<2x8x4xf32>) outs(%v : memref<2x8x4xf32>)
  // CHECK: exec.copy ins(%{{.*}} : memref<2x8x4xf32, strided<[32, 4, 1], offset: 64>>)
  exec.copy ins(%c : memref<2x8x4xf32, strided<[32, 4, 1], offset: 64>>) outs(%u : memref<2x8x4xf32>)
}
