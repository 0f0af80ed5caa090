// From functions to planned entries. A program without attributes goes all the way.

// RUN: cs336-opt %s --cs336-pipeline | FileCheck %s
// RUN: cs336-opt %S/Inputs/product.mlir --cs336-pipeline=target=cuda | FileCheck %s --check-prefix=CUDA
// RUN: cs336-opt %s --cs336-pipeline=mode=forward_backward | FileCheck %s --check-prefix=GRAD
// RUN: cs336-opt %s --cs336-pipeline=dtype=bf16 | FileCheck %s --check-prefix=BF16
// RUN: cs336-opt %s --pass-pipeline='builtin.module(cs336-pipeline{dtype=fp16 fusion=elementwise merge-gemms=false hoist-invariants=false})' --dump-pass-pipeline 2>&1 >%t.out | FileCheck %s --check-prefix=TEXT
// RUN: not cs336-opt %s --cs336-pipeline=fusion=some 2>&1 | FileCheck %s --check-prefix=FUSION
// RUN: not cs336-opt %s --cs336-pipeline=dtype=fp8 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not cs336-opt %s --cs336-pipeline=speed=high 2>&1 | FileCheck %s --check-prefix=OPTION

// CHECK: exec.kernel @[[KERNEL:.*]](
// CHECK: exec.entry @score mode<forward> arena_bytes = 128 alignment = 64 {
// CHECK-DAG: %[[X:.*]] = exec.input "arg0" : memref<4x8xf32>
// CHECK-DAG: %[[W:.*]] = exec.input "arg1" : memref<2x8xf32>
// CHECK-DAG: %[[Y:.*]] = exec.output "result0" output offset = 64 : memref<f32>
// CHECK-DAG: %[[H:.*]] = exec.alloc offset = 0 : memref<4x2xf32>
// CHECK: exec.gemm ins(%[[X]], %{{.*}}) outs(%[[H]]
// CHECK: exec.launch
// CHECK-SAME: outs(%[[Y]]

// Planned kernels show their schedules.
// CUDA: exec.kernel {{.*}} attributes {exec.schedules = {portable = [{schedule = "{{[a-z_]+}}"}]}}
// CUDA: exec.entry @forward mode<forward> arena_bytes = {{[0-9]+}} alignment = 256 {
// CUDA: exec.gemm {{.*}} workspace(

// GRAD: exec.variable @arg0 parameter : memref<4x8xf32>
// GRAD: exec.entry @score mode<forward_backward>
// GRAD-DAG: exec.output "loss" output offset = {{[0-9]+}} : memref<f32>
// GRAD-DAG: exec.output "arg0" gradient offset = {{[0-9]+}} : memref<4x8xf32>
// GRAD-DAG: exec.output "arg1" gradient offset = {{[0-9]+}} : memref<2x8xf32>

// BF16: exec.gemm {{.*}}memref<4x8xbf16>

// TEXT: cs336-name-ports{mode=forward}
// TEXT: cs336-bound-indices
// TEXT-NOT: cs336-merge-gemms
// TEXT: cs336-autocast{dtype=fp16}
// TEXT-NOT: cs336-merge-gemms
// TEXT: cs336-scale-loss{
// TEXT: cs336-decompose
// TEXT: canonicalize
// TEXT: cse
// TEXT: cs336-differentiate
// TEXT: cs336-optimizer
// TEXT: cs336-weight-shadows
// TEXT: canonicalize
// TEXT: cse
// TEXT-NOT: cs336-hoist-invariants
// TEXT: cs336-fuse-epilogues
// TEXT: convert-cs336-to-exec
// TEXT: exec-plan-memory{alignment=64}

// FUSION: for the {{.*}}fusion option: unknown fusion 'some': expected none, elementwise, softmax, flash or all
// DTYPE: for the {{.*}}dtype option: unknown dtype 'fp8': expected fp32, tf32, bf16 or fp16
// OPTION: no such option speed
func.func @score(%x: tensor<4x8xf32>, %w: tensor<2x8xf32>) -> tensor<f32> {
  %h = cs336.linear %x, %w : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<4x2xf32>
  %y = cs336.reduce sum %h axes = [0, 1] : tensor<4x2xf32> -> tensor<f32>
  return %y : tensor<f32>
}
