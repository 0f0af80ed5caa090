// RUN: cs336-opt --exec-add-workspaces --verify-diagnostics --split-input-file %s
// RUN: not cs336-opt --exec-add-workspaces=gemm-bytes=-4 %s 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not cs336-opt --exec-add-workspaces=gemm-bytes=6 %s 2>&1 | FileCheck %s --check-prefix=ODD

// NEGATIVE: error: gemm-bytes must be a multiple of 4 that is not negative, is -4
// ODD: error: gemm-bytes must be a multiple of 4 that is not negative, is 6

// The workspace of a kernel is known only if a schedule accepts it.
// expected-error@below {{has a name that no CUDA function can have}}
exec.kernel @"exp.f32"(%x: tensor<16xf32>) : (memref<16xf32>) -> memref<16xf32> {
  %0 = cs336.exp %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.entry @forward mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  exec.launch @"exp.f32" ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
}
