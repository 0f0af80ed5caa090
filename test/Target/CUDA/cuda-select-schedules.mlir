// RUN: cs336-opt --cuda-select-schedules=arch=sm_80 --mlir-print-debuginfo=false %s | FileCheck %s
// Emitting makes the same choice with the attribute as without it, and selecting again changes nothing.
// RUN: cs336-opt --cuda-select-schedules=arch=sm_80 %s -o %t.mlir
// RUN: cs336-translate --emit-cuda --require-all %s -o %t.chosen.cu
// RUN: cs336-translate --emit-cuda --require-all %t.mlir -o %t.selected.cu
// RUN: cmp %t.chosen.cu %t.selected.cu
// RUN: cs336-opt --cuda-select-schedules=arch=sm_80 %t.mlir | diff %t.mlir -
// Each architecture has its own selection; without one, it is for the limits that all have.
// RUN: cs336-opt --cuda-select-schedules=arch=sm_80,sm_90a %s | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: exec.architectures = ["sm_80", "sm_90a"]
// SEVERAL: exec.schedules = {sm_80 = [{{.*}}], sm_90a = [{{.*}}]}
// RUN: cs336-opt --cuda-select-schedules %s | FileCheck %s --check-prefix=PORTABLE
// PORTABLE: exec.schedules = {portable = [{{.*}}]}
// RUN: cs336-opt --cuda-select-schedules=arch=sm_80 --cuda-select-schedules=arch=sm_90a %s | FileCheck %s --check-prefix=LATER
// LATER: exec.architectures = ["sm_90a"]
// LATER: exec.schedules = {sm_80 = [{{.*}}], sm_90a = [{{.*}}]}

// A person can change the tile sizes.
// RUN: sed 's/rows = 64 : i64, slices = 1 : i64, stages = 2 : i64/rows = 64 : i64, slices = 1 : i64, stages = 1 : i64/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=EDITED
// EDITED: //===- attend -===//
// EDITED: // Grid of 192 blocks of 128 threads with 24576 bytes of shared memory.
// EDITED: using Attention = AttentionForward<attend_problem, TensorCoreRowBlock<__nv_bfloat16, 1>, 4, 64, 1, true>;

// Tiles that were not measured are legal if the templates work with them.
// RUN: sed 's/tile = 64/tile = 48/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=OTHER-TILE
// OTHER-TILE: using Attention = AttentionForward<attend_problem, TensorCoreRowBlock<__nv_bfloat16, 1>, 4, 48, 2, true>;
// RUN: sed 's/tile = 64/tile = 56/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: error: kernel 'attend' cannot have the selected schedule 'attention': it selects for 'forward' {keep_left = true, rows = 64 : i64, slices = 1 : i64, stages = 2 : i64, tile = 56 : i64, warps = 4 : i64}: tile must be a multiple of 16 from 16 to 256; measured tiles are {
// TILE-SAME: {keep_left = true, rows = 64 : i64, slices = 1 : i64, stages = 2 : i64, tile = 64 : i64, warps = 4 : i64}
// RUN: sed 's/stages = 2/stages = 5/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: : stages must be from 1 to 4; measured
// RUN: sed 's/warps = 4/warps = 3/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=WARPS
// WARPS: : warps do not share 64 rows evenly: leave them out; measured
// RUN: sed 's/slices = 1/slices = 2/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=SLICES
// SLICES: : slices must be 1; measured
// RUN: sed 's/keep_left/keep_right/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: : a parameter has another name or type than those of measured tiles; measured
// RUN: sed 's/"attention"/"rows"/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: kernel 'attend' cannot have the selected schedule 'rows': it {{.+}}
// RUN: sed 's/"pointwise"/"fast"/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: kernel 'neg' selects schedule 'fast', which does not exist; there are attention, {{.*}}pointwise
// RUN: sed 's/schedule = "pointwise"/schedule = "pointwise", tile = 3/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=PARAMETER
// PARAMETER: error: kernel 'neg' selects parameters that schedule 'pointwise' does not have
// RUN: sed 's/sm_80 = \[{schedule = "pointwise"}\]/sm_80 = "pointwise"/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: kernel 'neg' has 'exec.schedules' "pointwise", which is not of the form {sm_80 = [{schedule = "rows"}]}

// Names of architectures. Schedules for others than those of the module are kept.
// RUN: not cs336-opt --cuda-select-schedules=arch=sm_42 %s 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: error: unknown architecture 'sm_42' in 'exec.architectures': names are as in sm_80 and sm_90a, from sm_80 on
// RUN: not cs336-opt --cuda-select-schedules=arch=compute_90a %s 2>&1 | FileCheck %s --check-prefix=VIRTUAL
// VIRTUAL: error: unknown architecture 'compute_90a'
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a,sm_90a %s | FileCheck %s --check-prefix=ONCE
// ONCE: exec.architectures = ["sm_90a"]
// RUN: sed 's/sm_80 = \[{schedule = "pointwise"/sm_91z = [{schedule = "pointwise"/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: kernel 'neg' has 'exec.schedules' for 'sm_91z', which is not an architecture

// CHECK: exec.kernel @attend
// CHECK-SAME: exec.schedules = {sm_80 = [{forward = {keep_left = true, rows = 64 : i64, slices = 1 : i64, stages = 2 : i64, tile = 64 : i64, warps = 4 : i64}, schedule = "attention"}]}
exec.kernel @attend(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
    : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>)
    -> (memref<4x256x12x64xbf16>, memref<4x12x256xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16> -> tensor<4x12x256xf32>
  exec.yield %o, %l : tensor<4x256x12x64xbf16>, tensor<4x12x256xf32>
}
// CHECK: exec.kernel @neg
// CHECK-SAME: exec.schedules = {sm_80 = [{schedule = "pointwise"}]}
exec.kernel @neg(%x: tensor<64xf32>) : (memref<64xf32>) -> memref<64xf32> {
  %0 = cs336.neg %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}
