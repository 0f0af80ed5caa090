// The comment above a kernel says where it runs, and launches decide how operands are aligned.
// RUN: cs336-translate --emit-cuda %s | FileCheck %s

// CHECK: // Launched for layers.0.ffn.silu (forward) and 1 other.
// CHECK: // Schedule pointwise: 2 consecutive elements per thread
// CHECK: silu(
// CHECK: const Vector<float, 2> x0 = loadVector<2>(in0 + i0 * 20 + i1);
exec.kernel @silu(%x: tensor<4x8xf32>) : (memref<4x8xf32, strided<[20, 1]>>) -> memref<4x8xf32> {
  %s = cs336.sigmoid %x : tensor<4x8xf32>
  %y = cs336.mul %x, %s : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}

exec.entry @forward mode<forward> {
  %x = exec.input "x" : memref<4x20xf32>
  %y = exec.output "y" output : memref<4x8xf32>
  %z = exec.output "z" output : memref<4x8xf32>
  %a = exec.view %x : memref<4x20xf32> to memref<4x8xf32, strided<[20, 1], offset: 8>>
  %b = exec.view %x : memref<4x20xf32> to memref<4x8xf32, strided<[20, 1], offset: 6>>
  exec.launch @silu ins(%a : memref<4x8xf32, strided<[20, 1], offset: 8>>) outs(%y : memref<4x8xf32>) loc("layers.0.ffn.silu")
  exec.launch @silu ins(%b : memref<4x8xf32, strided<[20, 1], offset: 6>>) outs(%z : memref<4x8xf32>) loc("layers.1.ffn.silu")
}
