// The gradient of long sequences on sm_90a: one pass over the scores, in three functions.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false %s -o %t.mlir
// RUN: FileCheck %s --check-prefix=SELECT < %t.mlir
// Emitting makes the same choice with the attribute as without it.
// RUN: cs336-translate --emit-cuda --require-all %s -o %t.chosen.cu
// RUN: cs336-translate --emit-cuda --require-all %t.mlir -o %t.selected.cu
// RUN: cmp %t.chosen.cu %t.selected.cu

// A person can choose the other form.
// RUN: sed 's/passes = 1 : i64, \(schedule = "warpgroup_attention"\), sums = {[^}]*}/passes = 2 : i64, \1/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=EDITED '--implicit-check-not=Attention = WarpgroupGradient'
// EDITED: using Attention = WarpgroupAttentionQueries<narrow_problem, narrow_wgmma, 2, 128, 3, 2>;
// EDITED: using Attention = WarpgroupAttentionKeys<narrow_problem, narrow_wgmma, 2, 64, 4, true, 4096>;
// RUN: sed '/@brief/s/keys = {[^}]*}, passes = 2 : i64, queries = {[^}]*}/passes = 1 : i64/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=SHORT
// SHORT: using Attention = WarpgroupGradientSums<brief_problem, brief_wgmma, 4, 4, 2, 3, true>;
// RUN: sed 's/passes = 1/passes = 3/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=ILLEGAL
// ILLEGAL: error: kernel 'narrow' cannot have the selected schedule 'warpgroup_attention': it selects {passes = 3 : i64, sums = {{[{].*[}]}}}: passes must be 1 or 2{{$}}
// RUN: sed '/@keys_only/s/keys = {[^}]*}, passes = 2 : i64, queries = {[^}]*}/passes = 1 : i64/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=ONLY
// ONLY: error: kernel 'keys_only' cannot have the selected schedule 'warpgroup_attention': it selects {passes = 1 : i64}: passes must be 2{{$}}

// The sizes of every function can be edited, some or all of them.
// RUN: sed '/@narrow/s/sums = {[^}]*}/sums = {heads = 4, query_stages = 3, slope_stages = 1, sum_stages = 2, overlap = false}/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=SUMS
// SUMS: using Attention = WarpgroupGradientSums<narrow_problem, narrow_wgmma, 4, 3, 1, 2, false>;
// RUN: sed '/@brief/s/keys = {[^}]*}/keys = {rows = 192, tile = 32, stages = 2}/; /@brief/s/queries = {[^}]*}/queries = {tile = 96, value_stages = 3}/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=TILES
// TILES: using Attention = WarpgroupAttentionQueries<brief_problem, brief_wgmma, 2, 96, 3, 3>;
// TILES: using Attention = WarpgroupAttentionKeys<brief_problem, brief_wgmma, 3, 32, 2, true, 640>;

// DEFINE: %{change} =
// DEFINE: %{refuse} = sed '%{change}' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --implicit-check-not=remark
// REDEFINE: %{change} = /@narrow/s/query_stages = 4/query_stages = 7/
// RUN: %{refuse} --check-prefix=RANGE
// RANGE: error: kernel 'narrow' cannot have the selected schedule 'warpgroup_attention': it selects for 'sums' {{[{].*[}]}}: query_stages must be from 2 to 6{{$}}
// REDEFINE: %{change} = /@narrow/s/query_stages = 4/query_stages = 6/
// RUN: %{refuse} --check-prefix=MEMORY
// MEMORY: error: kernel 'narrow' {{.*}}: they require 233{{[0-9]+}} bytes of shared memory per block, and sm_90a has 232448{{$}}
// REDEFINE: %{change} = /@wide/s/overlap = false/overlap = true/
// RUN: %{refuse} --check-prefix=REGISTERS
// REGISTERS: error: kernel 'wide' {{.*}}: scores and results take 208 registers of a thread, which has 176 for them{{$}}
// REDEFINE: %{change} = /@brief/s/keys = {/keys = {warps = 4, /
// RUN: %{refuse} --check-prefix=NAME
// NAME: error: kernel 'brief' {{.*}}: it selects for 'keys' {{.*}}: warps is not one of its parameters, which are rows, tile, stages, overlap{{$}}
// REDEFINE: %{change} = /@brief/s/passes = 2 : i64, /passes = 2 : i64, sums = {}, /
// RUN: %{refuse} --check-prefix=OTHER
// OTHER: error: kernel 'brief' {{.*}}: sums is not one of its parameters, which are passes, queries, keys{{$}}
// REDEFINE: %{change} = /@brief/s/value_stages = [0-9]/value_stages = 1/
// RUN: %{refuse} --check-prefix=VALUES
// VALUES: error: kernel 'brief' {{.*}}: value_stages must be from 2 to 8{{$}}
// REDEFINE: %{change} = /@brief/s/"warpgroup_attention"/"foo"/
// RUN: %{refuse} --check-prefix=UNKNOWN
// UNKNOWN: error: kernel 'brief' selects schedule 'foo', which does not exist; there are warpgroup_attention, gradient_update, attention,
// REDEFINE: %{change} = /@brief/s/\[{\([^]]*\)}\]/[{\1}, {\1}]/
// RUN: %{refuse} --check-prefix=COUNT
// COUNT: error: kernel 'brief' has 1 part, but 'exec.schedules' lists 2 schedules: list one for each part{{$}}
// REDEFINE: %{change} = /@brief/s/overlap = true/overlap = 1/
// RUN: %{refuse} --check-prefix=BOOLEAN
// BOOLEAN: error: kernel 'brief' {{.*}}: overlap must be true or false{{$}}
// REDEFINE: %{change} = /@brief/s/tile = 64/tile = 48/
// RUN: %{refuse} --check-prefix=DIVIDES
// DIVIDES: error: kernel 'brief' {{.*}}: tile of 'keys' must divide 640, the queries of a head in whole rows of 'queries'{{$}}

module attributes {exec.architectures = ["sm_90a"]} {
// CHECK: //===- narrow -===//
// CHECK: // Schedule warpgroup_attention: 64 queries per block for their statistics, or the mean of the keys of a head; then 128 keys per block of 3 warpgroups and one for copies, queries in tiles of 64, by wgmma; then 64 queries per block of a warpgroup that rounds dQ.
// CHECK-NEXT: // Grid of 1040 blocks of 256 threads, then 132 blocks of 512 threads with 199728 bytes of shared memory, then 1024 blocks of 128 threads with 9088 bytes of shared memory; a workspace of 17309700 bytes.
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
// CHECK-NEXT: static_assert(Attention::tiles == 512 && Attention::sharedBytes == 199728 && Attention::workspaceBytes == 17309700);
// CHECK-NEXT: Attention::run(&queryMap, &keyMap, &valueMap, &outputGradientMap, &keyGradientMap, &valueGradientMap, workspace);
// CHECK: extern "C" __global__ void __launch_bounds__(128, 1)
// CHECK-NEXT: narrow_round(
// CHECK: unsigned char *workspace, const __grid_constant__ TensorMap queryGradientMap) {
// CHECK-NEXT: using Attention = WarpgroupGradientRound<narrow_problem, narrow_wgmma>;
// CHECK-NEXT: static_assert(Attention::blocks == 1024 && Attention::sharedBytes == 9088);
// CHECK-NEXT: Attention::run(&queryGradientMap, workspace);
// SELECT: exec.kernel @narrow
// SELECT-SAME: exec.schedules = {sm_90a = [{passes = 1 : i64, schedule = "warpgroup_attention", sums = {heads = 8 : i64, overlap = true, query_stages = 4 : i64, slope_stages = 2 : i64, sum_stages = 3 : i64}}]}
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
// SELECT-SAME: exec.schedules = {sm_90a = [{keys = {overlap = true, rows = 128 : i64, stages = 4 : i64, tile = 64 : i64}, passes = 2 : i64, queries = {rows = 128 : i64, stages = 3 : i64, tile = 128 : i64, value_stages = 2 : i64}, schedule = "warpgroup_attention"}]}
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
