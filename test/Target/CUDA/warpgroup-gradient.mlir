// The gradient of long sequences on sm_90a: one pass over the scores, in three functions.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false %s -o %t.mlir
// RUN: FileCheck %s --check-prefix=SELECT < %t.mlir
// Emitting makes the same choice with the attribute as without it.
// RUN: cs336-translate --emit-cuda --require-all %s -o %t.chosen.cu
// RUN: cs336-translate --emit-cuda --require-all %t.mlir -o %t.selected.cu
// RUN: cmp %t.chosen.cu %t.selected.cu

// A person can choose the other form.
// RUN: sed 's/passes = 1/passes = 2/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=EDITED '--implicit-check-not=Attention = WarpgroupGradient'
// EDITED: using Attention = WarpgroupAttentionQueries<narrow_problem, narrow_wgmma, 2, 128, 3, 2>;
// EDITED: using Attention = WarpgroupAttentionKeys<narrow_problem, narrow_wgmma, 2, 64, 4, true, 4096>;
// RUN: sed '/@brief/s/passes = 2/passes = 1/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=SHORT
// SHORT: using Attention = WarpgroupGradientSums<brief_problem, brief_wgmma, 4, 4, 2, 3, true>;
// RUN: sed 's/passes = 1/passes = 3/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=ILLEGAL
// ILLEGAL: error: kernel 'narrow' cannot have the selected schedule 'warpgroup_attention': it selects {passes = 3 : i64}, and the legal parameters are {passes = 1 : i64} and {passes = 2 : i64}
// RUN: sed '/@keys_only/s/passes = 2/passes = 1/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=ONLY
// ONLY: error: kernel 'keys_only' cannot have the selected schedule 'warpgroup_attention': it selects {passes = 1 : i64}, and the legal parameters are {passes = 2 : i64}{{$}}

module attributes {exec.architectures = ["sm_90a"]} {
// CHECK: //===- narrow -===//
// CHECK: // Schedule warpgroup_attention: 64 queries per block for their statistics, or the mean of the keys of a head; then 128 keys per block of 3 warpgroups and one for copies, queries in tiles of 64, by wgmma; then 64 queries per block of a warpgroup that rounds dQ.
// CHECK-NEXT: // Grid of 1040 blocks of 256 threads, then 132 blocks of 512 threads with 199856 bytes of shared memory, then 1024 blocks of 128 threads with 9216 bytes of shared memory; a workspace of 17309700 bytes.
// CHECK: struct narrow_wgmma::Matmul<64> {
// CHECK: static void runLeftTransposed(float (&sums)[32], unsigned long long left, unsigned long long right, int adds) {
// CHECK: "%32, %33, adds, 1, 1, 1, %35;}\n"
// CHECK: : "l"(left), "l"(right), "r"(adds), "n"(1));
// CHECK: extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: narrow_prepare(
// CHECK: using Attention = WarpgroupGradientPrepare<narrow_problem, __nv_bfloat16>;
// CHECK-NEXT: static_assert(Attention::blocks == 1040);
// CHECK-NEXT: Attention::run(in1, in3, in5, in4, workspace);
// CHECK: extern "C" __global__ void __launch_bounds__(512, 1)
// CHECK-NEXT: narrow_sums(
// CHECK: using Attention = WarpgroupGradientSums<narrow_problem, narrow_wgmma, 8, 4, 2, 3, true>;
// CHECK-NEXT: static_assert(Attention::tiles == 512 && Attention::sharedBytes == 199856 && Attention::workspaceBytes == 17309700);
// CHECK-NEXT: Attention::run(&queryMap, &keyMap, &valueMap, &outputGradientMap, &keyGradientMap, &valueGradientMap, workspace);
// CHECK: extern "C" __global__ void __launch_bounds__(128, 1)
// CHECK-NEXT: narrow_round(
// CHECK: unsigned char *workspace, const __grid_constant__ TensorMap queryGradientMap) {
// CHECK-NEXT: using Attention = WarpgroupGradientRound<narrow_problem, narrow_wgmma>;
// CHECK-NEXT: static_assert(Attention::blocks == 1024 && Attention::sharedBytes == 9216);
// CHECK-NEXT: Attention::run(&queryGradientMap, workspace);
// SELECT: exec.kernel @narrow
// SELECT-SAME: exec.schedules = {sm_90a = [{passes = 1 : i64, schedule = "warpgroup_attention"}]}
exec.kernel @narrow(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>,
                    %o: tensor<1x4096x16x64xbf16>, %l: tensor<1x16x4096xf32>, %do: tensor<1x4096x16x64xbf16>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x16x4096xf32>,
       memref<1x4096x16x64xbf16>) -> (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32>
  exec.yield %dq, %dk, %dv : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>
}

// Wide heads have two slabs of dQ, fewer tiles in shared memory, and fewer registers. Heads that share keys are computed
// by one block. The four key heads are two groups.
// CHECK: using Attention = WarpgroupGradientSums<wide_problem, wide_wgmma, 2, 2, 1, 3, false>;
exec.kernel @wide(%q: tensor<2x2100x10x128xf16>, %k: tensor<2x2200x2x128xf16>, %v: tensor<2x2200x2x128xf16>,
                  %o: tensor<2x2100x10x128xf16>, %l: tensor<2x10x2100xf32>, %do: tensor<2x2100x10x128xf16>)
    : (memref<2x2100x10x128xf16>, memref<2x2200x2x128xf16>, memref<2x2200x2x128xf16>, memref<2x2100x10x128xf16>, memref<2x10x2100xf32>,
       memref<2x2100x10x128xf16>) -> (memref<2x2100x10x128xf16>, memref<2x2200x2x128xf16>, memref<2x2200x2x128xf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64}
      : tensor<2x2100x10x128xf16>, tensor<2x2200x2x128xf16>, tensor<2x10x2100xf32>
  exec.yield %dq, %dk, %dv : tensor<2x2100x10x128xf16>, tensor<2x2200x2x128xf16>, tensor<2x2200x2x128xf16>
}

// The second slab of dQ has the columns that are left, in multiples of 16.
// CHECK: struct odd_wgmma::Matmul<16> {
// CHECK: static void runLeftTransposed(
// CHECK: using Attention = WarpgroupGradientSums<odd_problem, odd_wgmma, 2, 2, 1, 3, false>;
exec.kernel @odd(%q: tensor<1x1030x4x72xbf16>, %k: tensor<1x1024x4x72xbf16>, %v: tensor<1x1024x4x72xbf16>,
                 %o: tensor<1x1030x4x72xbf16>, %l: tensor<1x4x1030xf32>, %do: tensor<1x1030x4x72xbf16>)
    : (memref<1x1030x4x72xbf16>, memref<1x1024x4x72xbf16>, memref<1x1024x4x72xbf16>, memref<1x1030x4x72xbf16>, memref<1x4x1030xf32>,
       memref<1x1030x4x72xbf16>) -> (memref<1x1030x4x72xbf16>, memref<1x1024x4x72xbf16>, memref<1x1024x4x72xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x1030x4x72xbf16>, tensor<1x1024x4x72xbf16>, tensor<1x4x1030xf32>
  exec.yield %dq, %dk, %dv : tensor<1x1030x4x72xbf16>, tensor<1x1024x4x72xbf16>, tensor<1x1024x4x72xbf16>
}

// Short sequences stay with two passes.
// CHECK: using Attention = WarpgroupAttentionQueries<brief_problem,
// SELECT: exec.kernel @brief
// SELECT-SAME: exec.schedules = {sm_90a = [{passes = 2 : i64, schedule = "warpgroup_attention"}]}
exec.kernel @brief(%q: tensor<1x600x8x64xbf16>, %k: tensor<1x600x8x64xbf16>, %v: tensor<1x600x8x64xbf16>,
                   %o: tensor<1x600x8x64xbf16>, %l: tensor<1x8x600xf32>, %do: tensor<1x600x8x64xbf16>)
    : (memref<1x600x8x64xbf16>, memref<1x600x8x64xbf16>, memref<1x600x8x64xbf16>, memref<1x600x8x64xbf16>, memref<1x8x600xf32>,
       memref<1x600x8x64xbf16>) -> (memref<1x600x8x64xbf16>, memref<1x600x8x64xbf16>, memref<1x600x8x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x600x8x64xbf16>, tensor<1x600x8x64xbf16>, tensor<1x8x600xf32>
  exec.yield %dq, %dk, %dv : tensor<1x600x8x64xbf16>, tensor<1x600x8x64xbf16>, tensor<1x600x8x64xbf16>
}

// So does a gradient without dQ, for which nothing has to be summed in memory.
// CHECK: using Attention = WarpgroupAttentionQueries<keys_only_problem,
exec.kernel @keys_only(%q: tensor<1x4096x8x64xbf16>, %k: tensor<1x4096x8x64xbf16>, %v: tensor<1x4096x8x64xbf16>,
                       %o: tensor<1x4096x8x64xbf16>, %l: tensor<1x8x4096xf32>, %do: tensor<1x4096x8x64xbf16>)
    : (memref<1x4096x8x64xbf16>, memref<1x4096x8x64xbf16>, memref<1x4096x8x64xbf16>, memref<1x4096x8x64xbf16>, memref<1x8x4096xf32>,
       memref<1x4096x8x64xbf16>) -> (memref<1x4096x8x64xbf16>, memref<1x4096x8x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x4096x8x64xbf16>, tensor<1x4096x8x64xbf16>, tensor<1x8x4096xf32>
  exec.yield %dk, %dv : tensor<1x4096x8x64xbf16>, tensor<1x4096x8x64xbf16>
}
}
