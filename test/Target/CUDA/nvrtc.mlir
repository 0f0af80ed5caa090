// The text of every schedule compiles for every architecture, without spilling.
// REQUIRES: nvrtc
// RUN: cs336-translate --emit-cuda --require-all %S/pointwise.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/reductions.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=REDUCE --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/rows.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=ROWS --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/scatter.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=SCATTER --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/attention.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=ATTENTION --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/attention-head-dims.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=HEAD-DIMS --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/attention-scores.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=SCORES --implicit-check-not=spilled
// RUN: cs336-translate --emit-cuda --require-all %S/plain-attention.mlir | cs336-nvrtc-check --arch sm_80,sm_90a,sm_100a,sm_120 | FileCheck %s --check-prefix=PLAIN --implicit-check-not=spilled
// RUN: sed 's/ARCH/sm_90a/' %S/warpgroup-attention.mlir | cs336-translate --emit-cuda --require-all - | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=WARPGROUP --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-biases.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=BIASES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-soft-cap.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=SOFT-CAP --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-gradient.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=GRADIENT --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-gradient-scores.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=GRADIENT-SCORES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false %S/warpgroup-gradient-scores.mlir | sed 's/passes = 1 : i64, \(schedule = "warpgroup_attention"\), sums = {[^}]*}/passes = 2 : i64, \1/' | cs336-translate --emit-cuda --require-all | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=TWO-PASSES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false %S/warpgroup-gradient-scores.mlir | sed 's/keys = {[^}]*}, passes = 2 : i64, queries = {[^}]*}/passes = 1 : i64/' | cs336-translate --emit-cuda --require-all | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=ONE-PASS --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-hidden-tiles.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=HIDDEN --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-gradient-sizes.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=SIZES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/gradient-update.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=UPDATES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-nvrtc-check --arch sm_90a < %S/Inputs/serialised.cu | FileCheck %s --check-prefix=SERIALISED
// SERIALISED: waits: {{[0-9]+}} registers, serialised matmuls

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

// WARPGROUP: sm_90a: 15 kernels

// GRADIENT: sm_90a: 13 kernels

// GRADIENT-SCORES: sm_90a: 24 kernels
// TWO-PASSES: sm_90a: 17 kernels
// ONE-PASS: sm_90a: 25 kernels
// BIASES: sm_90a: 4 kernels
// SOFT-CAP: sm_90a: 7 kernels
// HIDDEN: sm_90a: 27 kernels
// SIZES: sm_90a: 24 kernels

// UPDATES: sm_90a: 6 kernels
