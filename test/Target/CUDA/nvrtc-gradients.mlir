// Gradients of attention by warpgroups: no spilling, and no matmul waits for another.
// REQUIRES: nvrtc
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-gradient.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=GRADIENT --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-gradient-scores.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=GRADIENT-SCORES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false %S/warpgroup-gradient-scores.mlir | sed 's/passes = 1 : i64, \(schedule = "warpgroup_attention"\), sums = {[^}]*}/passes = 2 : i64, \1/' | cs336-translate --emit-cuda --require-all | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=TWO-PASSES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false %S/warpgroup-gradient-scores.mlir | sed 's/keys = {[^}]*}, passes = 2 : i64, queries = {[^}]*}/passes = 1 : i64/' | cs336-translate --emit-cuda --require-all | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=ONE-PASS --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-gradient-sizes.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=SIZES --implicit-check-not=spilled --implicit-check-not=serialised

// GRADIENT: sm_90a: 13 kernels

// GRADIENT-SCORES: sm_90a: 24 kernels

// TWO-PASSES: sm_90a: 17 kernels

// ONE-PASS: sm_90a: 25 kernels

// SIZES: sm_90a: 24 kernels
