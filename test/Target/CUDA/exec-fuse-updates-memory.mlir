// RUN: cs336-opt --exec-fuse-updates=always=true --mlir-print-debuginfo=false %s | FileCheck %s --check-prefix=APART
// RUN: cs336-opt --exec-fuse-updates='always=true growth-percent=100' --mlir-print-debuginfo=false %s | FileCheck %s --check-prefix=FUSED

// The update waits for a command that reads the parameter, at which most memory is live. The operands of the GEMM would
// be live there, too. They are larger than the gradient.
// APART: exec.gemm
// APART: exec.launch @spread
// APART: exec.launch @step
// FUSED-NOT: exec.gemm
// FUSED: exec.launch @spread
// FUSED-NEXT: exec.launch @matmul_
module attributes {exec.architectures = ["sm_90a"]} {
exec.variable @w parameter : memref<64x64xf32>

exec.kernel @negate(%x: tensor<1000x64xbf16>) : (memref<1000x64xbf16>) -> memref<1000x64xbf16> {
  %0 = cs336.neg %x : tensor<1000x64xbf16>
  exec.yield %0 : tensor<1000x64xbf16>
}
exec.kernel @spread(%w: tensor<64x64xf32>) : (memref<64x64xf32>) -> memref<20x64x64xf32> {
  %0 = cs336.broadcast %w dims = [1, 2] : tensor<64x64xf32> -> tensor<20x64x64xf32>
  exec.yield %0 : tensor<20x64x64xf32>
}
exec.kernel @sum(%x: tensor<20x64x64xf32>) : (memref<20x64x64xf32>) -> memref<f32> {
  %0 = cs336.reduce sum %x axes = [0, 1, 2] : tensor<20x64x64xf32> -> tensor<f32>
  exec.yield %0 : tensor<f32>
}
exec.kernel @step(%p: tensor<64x64xf32>, %g: tensor<64x64xbf16>) : (memref<64x64xf32>, memref<64x64xbf16>) -> memref<64x64xf32> {
  %0 = cs336.cast %g : tensor<64x64xbf16> -> tensor<64x64xf32>
  %1 = cs336.sub %p, %0 : tensor<64x64xf32>
  exec.yield %1 : tensor<64x64xf32>
}

exec.entry @train mode<train> {
  %w = exec.get @w : memref<64x64xf32>
  %x = exec.input "x" : memref<1000x64xbf16>
  %out = exec.output "out" output : memref<f32>
  %left = exec.alloc : memref<1000x64xbf16>
  exec.launch @negate ins(%x : memref<1000x64xbf16>) outs(%left : memref<1000x64xbf16>)
  %rows = exec.view %left : memref<1000x64xbf16> to memref<64x1000xbf16, strided<[1, 64]>>
  %right = exec.alloc : memref<1000x64xbf16>
  exec.launch @negate ins(%x : memref<1000x64xbf16>) outs(%right : memref<1000x64xbf16>)
  %g = exec.alloc : memref<64x64xbf16>
  exec.gemm ins(%rows, %right : memref<64x1000xbf16, strided<[1, 64]>>, memref<1000x64xbf16>) outs(%g : memref<64x64xbf16>)
  %wide = exec.alloc : memref<20x64x64xf32>
  exec.launch @spread ins(%w : memref<64x64xf32>) outs(%wide : memref<20x64x64xf32>)
  exec.launch @step ins(%w, %g : memref<64x64xf32>, memref<64x64xbf16>) outs(%w : memref<64x64xf32>)
  exec.launch @sum ins(%wide : memref<20x64x64xf32>) outs(%out : memref<f32>)
}
}
