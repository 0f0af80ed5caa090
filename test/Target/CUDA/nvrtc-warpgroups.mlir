// Kernels for warpgroups, except for gradients of attention: no spilling, and no matmul waits for another.
// REQUIRES: nvrtc
// RUN: sed 's/ARCH/sm_90a/' %S/warpgroup-attention.mlir | cs336-translate --emit-cuda --require-all - | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=WARPGROUP --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-biases.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=BIASES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-soft-cap.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=SOFT-CAP --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/warpgroup-hidden-tiles.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=HIDDEN --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-translate --emit-cuda --require-all %S/gradient-update.mlir | cs336-nvrtc-check --arch sm_90a | FileCheck %s --check-prefix=UPDATES --implicit-check-not=spilled --implicit-check-not=serialised
// RUN: cs336-nvrtc-check --arch sm_90a < %S/Inputs/serialised.cu | FileCheck %s --check-prefix=SERIALISED

// WARPGROUP: sm_90a: 23 kernels

// BIASES: sm_90a: 5 kernels

// SOFT-CAP: sm_90a: 8 kernels

// HIDDEN: sm_90a: 28 kernels

// UPDATES: sm_90a: 6 kernels

// SERIALISED: waits: {{[0-9]+}} registers, serialised matmuls
