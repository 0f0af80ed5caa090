// RUN: cs336-opt --cuda-tile-attention="queries=32 keys=128" %s | FileCheck %s
// RUN: cs336-opt --cuda-tile-attention="queries=32 keys=128" %s | cs336-opt --cuda-tile-attention="queries=32 keys=128" | FileCheck %s
// CHECK: exec.kernel @attend
// CHECK-SAME: exec.schedules = {portable = [{forward = {rows = 32 : i64, tile = 128 : i64}, schedule = "attention"}]}
// CHECK: exec.kernel @gradient
// CHECK-SAME: exec.schedules = {portable = [{keys = {rows = 128 : i64, tile = 32 : i64}, queries = {rows = 32 : i64, tile = 128 : i64}, schedule = "attention"}]}
// CHECK: exec.kernel @neg
// CHECK-NOT: exec.schedules

// Emitting chooses what the selection leaves out, and --cuda-select-schedules writes it down.
// RUN: cs336-opt --cuda-tile-attention="queries=32 keys=128" %s | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=TEXT
// TEXT: // Schedule attention: 32 queries per block of 2 warps, keys in tiles of 128, by tensor cores.
// TEXT: // Grid of 384 blocks of 64 threads with 69632 bytes of shared memory.
// TEXT: using Attention = AttentionForward<attend_problem, TensorCoreRowBlock<__nv_bfloat16, 1>, 2, 128, 2, true>;
// TEXT: // Schedule attention: 32 queries per block of 2 warps, keys in tiles of 128, by tensor cores; then 128 keys per block of 4 warps, queries in tiles of 32, by tensor cores.
// RUN: cs336-opt --cuda-tile-attention="queries=32 keys=128" --cuda-select-schedules %s | FileCheck %s --check-prefix=COMPLETE
// COMPLETE: {portable = [{forward = {keep_left = true, rows = 32 : i64, slices = 1 : i64, stages = 2 : i64, tile = 128 : i64, warps = 2 : i64}, schedule = "attention"}]}

// Each architecture has its own limit.
// RUN: sed -e '1i module attributes {exec.architectures = ["sm_90a"]} {' -e '$a }' %s > %t.mlir
// RUN: cs336-opt --cuda-tile-attention="queries=256 keys=256" %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=LARGE
// LARGE: // Grid of 48 blocks of 512 threads with 163840 bytes of shared memory.
// LARGE: // Grid of 48 blocks of 512 threads with 196608 bytes of shared memory, then 48 blocks of 512 threads with 200704 bytes of shared memory;
// RUN: sed 's/"sm_90a"/"sm_86"/' %t.mlir | cs336-opt --cuda-tile-attention="queries=256 keys=256" | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: kernel 'gradient' cannot have the selected schedule 'attention': it selects for 'queries' {rows = 256 : i64, tile = 256 : i64}: they require 196608 bytes of shared memory per block, and sm_86 has 101376; measured tiles are {{{.*}}}

// Measured tiles have the measured warps, and more rows have two groups of rows per warp if registers suffice.
// RUN: cs336-opt --cuda-tile-attention="queries=128 keys=64" --cuda-select-schedules %t.mlir | FileCheck %s --check-prefix=MEASURED
// MEASURED: forward = {keep_left = true, rows = 128 : i64, slices = 1 : i64, stages = 1 : i64, tile = 64 : i64, warps = 4 : i64}
// RUN: cs336-opt --cuda-tile-attention="queries=256 keys=32" --cuda-select-schedules %t.mlir | FileCheck %s --check-prefix=WIDE
// WIDE: forward = {keep_left = true, rows = 256 : i64, slices = 1 : i64, stages = 2 : i64, tile = 32 : i64, warps = 8 : i64}

// RUN: not cs336-opt --cuda-tile-attention="queries=24" %s 2>&1 | FileCheck %s --check-prefix=QUERIES
// QUERIES: error: option queries is 24, must be a multiple of 16 from 16 to 256
// RUN: not cs336-opt --cuda-tile-attention="keys=272" %s 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS: error: option keys is 272, must be a multiple of 16 from 16 to 256

exec.kernel @attend(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
    : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>)
    -> (memref<4x256x12x64xbf16>, memref<4x12x256xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16> -> tensor<4x12x256xf32>
  exec.yield %o, %l : tensor<4x256x12x64xbf16>, tensor<4x12x256xf32>
}
exec.kernel @gradient(%q: tensor<4x256x12x64xbf16>, %l: tensor<4x12x256xf32>)
    : (memref<4x256x12x64xbf16>, memref<4x12x256xf32>)
    -> (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %q, %l, %q {scale = 0.125 : f64, causal}
      : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16>, tensor<4x12x256xf32>
  exec.yield %dq, %dk, %dv : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16>
}
exec.kernel @neg(%x: tensor<64xf32>) : (memref<64xf32>) -> memref<64xf32> {
  %0 = cs336.neg %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}
