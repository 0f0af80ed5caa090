// The text of every portable schedule compiles for every architecture, without spilling.
// REQUIRES: nvrtc
// RUN: cs336-translate --emit-cuda --require-all %S/pointwise.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/reductions.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=REDUCE --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/rows.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=ROWS --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/scatter.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=SCATTER --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/attention.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=ATTENTION --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/attention-head-dims.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=HEAD-DIMS --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/attention-scores.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=SCORES --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/plain-attention.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=PLAIN --implicit-check-not=spilled

// CHECK: sm_80: 21 kernels
// CHECK: adamw: {{[0-9]+}} registers{{$}}
// CHECK: sm_90a: 21 kernels
// CHECK: sm_100a: 21 kernels
// CHECK: sm_120: 21 kernels

// REDUCE: sm_80: 8 kernels
// REDUCE: sm_90a: 8 kernels
// REDUCE: sm_100a: 8 kernels
// REDUCE: sm_120: 8 kernels

// ROWS: sm_80: 8 kernels
// ROWS: sm_90a: 8 kernels
// ROWS: sm_100a: 8 kernels
// ROWS: sm_120: 8 kernels

// SCATTER: sm_80: 18 kernels
// SCATTER: sm_90a: 18 kernels
// SCATTER: sm_100a: 18 kernels
// SCATTER: sm_120: 18 kernels

// ATTENTION: sm_80: 9 kernels
// ATTENTION: sm_90a: 9 kernels
// ATTENTION: sm_100a: 9 kernels
// ATTENTION: sm_120: 9 kernels

// HEAD-DIMS: sm_80: 14 kernels
// HEAD-DIMS: sm_90a: 14 kernels
// HEAD-DIMS: sm_100a: 14 kernels
// HEAD-DIMS: sm_120: 14 kernels

// SCORES: sm_80: 7 kernels
// SCORES: sm_90a: 7 kernels
// SCORES: sm_100a: 7 kernels
// SCORES: sm_120: 7 kernels

// PLAIN: sm_80: 3 kernels
// PLAIN: sm_90a: 3 kernels
// PLAIN: sm_100a: 3 kernels
// PLAIN: sm_120: 3 kernels
