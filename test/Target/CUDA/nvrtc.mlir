// The text of every kind of pointwise kernel compiles for every architecture.
// REQUIRES: nvrtc
// RUN: cs336-translate --emit-cuda --require-all %S/pointwise.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s

// CHECK: sm_80: 14 kernels
// CHECK: adamw: {{[0-9]+}} registers{{$}}
// CHECK: sm_90a: 14 kernels
// CHECK: sm_100a: 14 kernels
// CHECK: sm_120: 14 kernels
