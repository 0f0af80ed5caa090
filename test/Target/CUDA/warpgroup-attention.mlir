// Attention on sm_90a: instances of other templates, whose operands are copied by tensor maps.
// RUN: sed 's/ARCH/sm_90a/' %s | cs336-translate --emit-cuda --require-all - | FileCheck %s
// RUN: sed 's/ARCH/sm_80/' %s | cs336-translate --emit-cuda --require-all - | FileCheck %s --check-prefix=PORTABLE
// PORTABLE-NOT: warpgroup
// PORTABLE-COUNT-18: // Schedule attention:
// PORTABLE-NOT: warpgroup

// The choice is visible, and a person can edit it.
// RUN: sed 's/ARCH/sm_90a/' %s | cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false -o %t.mlir
// RUN: FileCheck %s --check-prefix=SELECT < %t.mlir
// SELECT: exec.kernel @lengthy
// SELECT-SAME: exec.schedules = {sm_90a = [{forward = {heads = 16 : i64, rows = 192 : i64, stages = 2 : i64, tile = 128 : i64}, schedule = "warpgroup_attention"}]}
// SELECT: exec.kernel @curved
// SELECT-SAME: exec.schedules = {sm_90a = [{forward = {heads = 16 : i64, rows = 192 : i64, stages = 2 : i64, tile = 96 : i64}, schedule = "warpgroup_attention"}]}
// SELECT: exec.kernel @many
// SELECT-SAME: exec.schedules = {sm_90a = [{forward = {heads = 11 : i64, rows = 192 : i64, stages = 2 : i64, tile = 80 : i64}, schedule = "warpgroup_attention"}]}
// RUN: sed '/@lengthy/s/forward = {[^}]*}/forward = {tile = 64, rows = 128, heads = 3, stages = 4}/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=EDITED
// EDITED: // Schedule warpgroup_attention: 128 queries per block of 2 warpgroups and one for copies, keys in tiles of 64, by wgmma.
// EDITED: using Attention = WarpgroupAttentionForward<lengthy_problem, lengthy_wgmma, 2, 64, 4, 2, 3>;
// RUN: sed '/@lengthy/s/tile = 128/tile = 120/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: error: kernel 'lengthy' cannot have the selected schedule 'warpgroup_attention': it selects for 'forward' {heads = 16 : i64, rows = 192 : i64, stages = 2 : i64, tile = 120 : i64}: tile must be a multiple of 16 from 16 to 256{{$}}
// RUN: sed '/@lengthy/s/tile = 128/tile = 160/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: error: kernel 'lengthy' {{.*}}: scores and results take 152 registers of a thread, which has 128 for them{{$}}
// RUN: sed '/@lengthy/s/heads = 16/heads = 17/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=HEADS
// HEADS: error: kernel 'lengthy' {{.*}}: heads must be from 1 to 16{{$}}
// RUN: sed '/@lengthy/s/rows = 192/rows = 256/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: kernel 'lengthy' {{.*}}: rows must be 128 or 192{{$}}
// RUN: sed '/@lengthy/s/\[{\([^]]*\)}\]/[{\1}, {\1}]/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: kernel 'lengthy' selects schedule 'warpgroup_attention' for one of its 2 parts, but this schedule computes all parts of a kernel: list it once, alone
// RUN: sed '/@lengthy/s/"warpgroup_attention"/"foo"/' %t.mlir | not cs336-translate --emit-cuda 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: kernel 'lengthy' selects schedule 'foo', which does not exist; there are warpgroup_attention, gradient_update, attention,

module attributes {exec.architectures = ["ARCH"]} {
// Many queries of narrow heads: three warpgroups compute.
// CHECK: //===- lengthy -===//
// CHECK: // Schedule warpgroup_attention: 192 queries per block of 3 warpgroups and one for copies, keys in tiles of 128, by wgmma.
// CHECK-NEXT: // Grid of 132 blocks of 512 threads with 140256 bytes of shared memory.
// CHECK: struct lengthy_problem {
// CHECK: struct lengthy_wgmma {
// CHECK-NEXT: using Element = __nv_bfloat16;
// CHECK: struct lengthy_wgmma::Matmul<64> {
// CHECK: "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
// CHECK-NEXT: "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
// CHECK-NEXT: "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
// CHECK-NEXT: "%32, %33, adds, 1, 1, 0, %35;}\n"
// CHECK: "{%32, %33, %34, %35}, %36, adds, 1, 1, %38;}\n"
// CHECK: struct lengthy_wgmma::Matmul<128> {
// CHECK: extern "C" __global__ void __launch_bounds__(512, 1)
// CHECK-NEXT: lengthy(const __nv_bfloat16 *in0, const __nv_bfloat16 *in1, const __nv_bfloat16 *in2, __nv_bfloat16 *out0, float *out1,
// CHECK-NEXT: const __grid_constant__ TensorMap queryMap, const __grid_constant__ TensorMap keyMap,
// CHECK-NEXT: const __grid_constant__ TensorMap valueMap, const __grid_constant__ TensorMap outputMap) {
// CHECK-NEXT: using Attention = WarpgroupAttentionForward<lengthy_problem, lengthy_wgmma, 3, 128, 2, 2>;
// CHECK-NEXT: static_assert(Attention::tiles == 352 && Attention::sharedBytes == 140256);
// CHECK-NEXT: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, out1);
exec.kernel @lengthy(%q: tensor<1x4200x16x64xbf16>, %k: tensor<1x4200x16x64xbf16>, %v: tensor<1x4200x16x64xbf16>)
    : (memref<1x4200x16x64xbf16>, memref<1x4200x16x64xbf16>, memref<1x4200x16x64xbf16>) -> (memref<1x4200x16x64xbf16>, memref<1x16x4200xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x4200x16x64xbf16>, tensor<1x4200x16x64xbf16> -> tensor<1x16x4200xf32>
  exec.yield %o, %l : tensor<1x4200x16x64xbf16>, tensor<1x16x4200xf32>
}

// With a score function, tiles of fewer keys leave it registers.
// CHECK: //===- curved -===//
// CHECK: // Schedule warpgroup_attention: 192 queries per block of 3 warpgroups and one for copies, keys in tiles of 96, by wgmma.
// CHECK: WarpgroupAttentionForward<curved_problem, curved_wgmma, 3, 96, 2, 2>;
exec.kernel @curved(%q: tensor<1x4200x16x64xbf16>, %k: tensor<1x4200x16x64xbf16>, %v: tensor<1x4200x16x64xbf16>)
    : (memref<1x4200x16x64xbf16>, memref<1x4200x16x64xbf16>, memref<1x4200x16x64xbf16>) -> (memref<1x4200x16x64xbf16>, memref<1x16x4200xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x4200x16x64xbf16>, tensor<1x4200x16x64xbf16> -> tensor<1x16x4200xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %r = cs336.sin %s : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x4200x16x64xbf16>, tensor<1x16x4200xf32>
}

// Keys and values of all heads are larger than the second-level cache: 11 of 64 heads are computed at a time.
// CHECK: WarpgroupAttentionForward<many_problem, many_wgmma, 3, 80, 2, 2, 11>;
exec.kernel @many(%q: tensor<4x4096x16x128xbf16>) : (memref<4x4096x16x128xbf16>) -> (memref<4x4096x16x128xbf16>, memref<4x16x4096xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64, causal}
      : tensor<4x4096x16x128xbf16>, tensor<4x4096x16x128xbf16> -> tensor<4x16x4096xf32>
  exec.yield %o, %l : tensor<4x4096x16x128xbf16>, tensor<4x16x4096xf32>
}

// Wide heads have three warpgroups with the keys for which they have registers, unless distances hide keys before the
// query.
// CHECK: WarpgroupAttentionForward<medium_problem, medium_wgmma, 3, 112, 2, 1, 30>;
exec.kernel @medium(%q: tensor<1x2048x40x80xbf16>) : (memref<1x2048x40x80xbf16>) -> (memref<1x2048x40x80xbf16>, memref<1x40x2048xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64, causal}
      : tensor<1x2048x40x80xbf16>, tensor<1x2048x40x80xbf16> -> tensor<1x40x2048xf32>
  exec.yield %o, %l : tensor<1x2048x40x80xbf16>, tensor<1x40x2048xf32>
}

// CHECK: WarpgroupAttentionForward<window_problem, window_wgmma, 2, 128, 2, 2, 28>;
exec.kernel @window(%q: tensor<1x2048x40x80xbf16>) : (memref<1x2048x40x80xbf16>) -> (memref<1x2048x40x80xbf16>, memref<1x40x2048xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64, causal}
      : tensor<1x2048x40x80xbf16>, tensor<1x2048x40x80xbf16> -> tensor<1x40x2048xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %distance = cs336.sub %i, %j : tensor<i32>
    %zero = cs336.constant dense<0> : tensor<i32>
    %last = cs336.constant dense<1023> : tensor<i32>
    %seen = cs336.compare ge %distance, %zero : tensor<i32>
    %near = cs336.compare le %distance, %last : tensor<i32>
    %visible = cs336.and %seen, %near : tensor<i1>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<1x2048x40x80xbf16>, tensor<1x40x2048xf32>
}

// Three warpgroups compute if the block with the most tiles then takes less time. Here it has 11 tiles of 192 queries
// instead of 16 of 128.
// CHECK: WarpgroupAttentionForward<full_problem, full_wgmma, 3, 80, 2, 2, 22>;
exec.kernel @full(%q: tensor<8x2048x16x128xbf16>) : (memref<8x2048x16x128xbf16>) -> (memref<8x2048x16x128xbf16>, memref<8x16x2048xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<8x2048x16x128xbf16>, tensor<8x2048x16x128xbf16> -> tensor<8x16x2048xf32>
  exec.yield %o, %l : tensor<8x2048x16x128xbf16>, tensor<8x16x2048xf32>
}

// Here it has 3 tiles of 192 queries instead of 3 of 128.
// CHECK: WarpgroupAttentionForward<level_problem, level_wgmma, 2, 128, 2, 2>;
exec.kernel @level(%q: tensor<4x1024x12x64xbf16>) : (memref<4x1024x12x64xbf16>) -> (memref<4x1024x12x64xbf16>, memref<4x12x1024xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<4x1024x12x64xbf16>, tensor<4x1024x12x64xbf16> -> tensor<4x12x1024xf32>
  exec.yield %o, %l : tensor<4x1024x12x64xbf16>, tensor<4x12x1024xf32>
}

// The shapes of many heads in test_attention.py.
// CHECK: WarpgroupAttentionForward<short64_problem, short64_wgmma, 3, 128, 2, 2>;
exec.kernel @short64(%q: tensor<1x300x54x64xbf16>, %k: tensor<1x300x27x64xbf16>) : (memref<1x300x54x64xbf16>, memref<1x300x27x64xbf16>) -> (memref<1x300x54x64xbf16>, memref<1x54x300xf32>) {
  %o, %l = cs336.attention %q, %k, %k {scale = 0.125 : f64, causal}
      : tensor<1x300x54x64xbf16>, tensor<1x300x27x64xbf16> -> tensor<1x54x300xf32>
  exec.yield %o, %l : tensor<1x300x54x64xbf16>, tensor<1x54x300xf32>
}

// CHECK: WarpgroupAttentionForward<short40_problem, short40_wgmma, 3, 128, 2, 2>;
exec.kernel @short40(%q: tensor<1x420x54x40xbf16>) : (memref<1x420x54x40xbf16>) -> (memref<1x420x54x40xbf16>, memref<1x54x420xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64, causal}
      : tensor<1x420x54x40xbf16>, tensor<1x420x54x40xbf16> -> tensor<1x54x420xf32>
  exec.yield %o, %l : tensor<1x420x54x40xbf16>, tensor<1x54x420xf32>
}

// CHECK: WarpgroupAttentionForward<short72_problem, short72_wgmma, 3, 112, 2, 1>;
exec.kernel @short72(%q: tensor<1x260x53x72xbf16>) : (memref<1x260x53x72xbf16>) -> (memref<1x260x53x72xbf16>, memref<1x53x260xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64, causal}
      : tensor<1x260x53x72xbf16>, tensor<1x260x53x72xbf16> -> tensor<1x53x260xf32>
  exec.yield %o, %l : tensor<1x260x53x72xbf16>, tensor<1x53x260xf32>
}

// CHECK: WarpgroupAttentionForward<short72full_problem, short72full_wgmma, 3, 112, 2, 1>;
exec.kernel @short72full(%q: tensor<1x260x53x72xbf16>) : (memref<1x260x53x72xbf16>) -> (memref<1x260x53x72xbf16>, memref<1x53x260xf32>) {
  %o, %l = cs336.attention %q, %q, %q {scale = 0.125 : f64}
      : tensor<1x260x53x72xbf16>, tensor<1x260x53x72xbf16> -> tensor<1x53x260xf32>
  exec.yield %o, %l : tensor<1x260x53x72xbf16>, tensor<1x53x260xf32>
}

// Few tiles: a block each.
// CHECK: // Schedule warpgroup_attention: 128 queries per block of 2 warpgroups and one for copies, keys in tiles of 128, by wgmma.
// CHECK-NEXT: // Grid of 24 blocks of 384 threads with 230368 bytes of shared memory.
// CHECK: using Element = __half;
// CHECK: "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
// CHECK: WarpgroupAttentionForward<wide_problem, wide_wgmma, 2, 128, 2, 2>;
exec.kernel @wide(%q: tensor<2x300x4x128xf16>, %k: tensor<2x333x2x128xf16>, %v: tensor<2x333x2x128xf16>)
    : (memref<2x300x4x128xf16>, memref<2x333x2x128xf16>, memref<2x333x2x128xf16>) -> (memref<2x300x4x128xf16>, memref<2x4x300xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x300x4x128xf16>, tensor<2x333x2x128xf16> -> tensor<2x4x300xf32>
  exec.yield %o, %l : tensor<2x300x4x128xf16>, tensor<2x4x300xf32>
}

// CHECK: struct odd_wgmma::Matmul<80> {
// CHECK: WarpgroupAttentionForward<odd_problem, odd_wgmma, 2, 128, 2, 2>;
exec.kernel @odd(%q: tensor<1x300x4x72xbf16>, %k: tensor<1x300x4x72xbf16>, %v: tensor<1x300x4x72xbf16>)
    : (memref<1x300x4x72xbf16>, memref<1x300x4x72xbf16>, memref<1x300x4x72xbf16>) -> (memref<1x300x4x72xbf16>, memref<1x4x300xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<1x300x4x72xbf16>, tensor<1x300x4x72xbf16> -> tensor<1x4x300xf32>
  exec.yield %o, %l : tensor<1x300x4x72xbf16>, tensor<1x4x300xf32>
}

// The first function leaves two numbers for each query in the workspace, for whole tiles.
// CHECK: //===- gradient -===//
// CHECK: // Schedule warpgroup_attention: 128 queries per block of 2 warpgroups and one for copies, keys in tiles of 128, by wgmma; then 128 keys per block of 2 warpgroups and one for copies, queries in tiles of 64, by wgmma.
// CHECK-NEXT: // Grid of 40 blocks of 384 threads with 119024 bytes of shared memory, then 20 blocks of 384 threads with 101328 bytes of shared memory; a workspace of 40960 bytes.
// CHECK: gradient_queries(
// CHECK: queryGradientMap) {
// CHECK-NEXT: using Attention = WarpgroupAttentionQueries<gradient_problem, gradient_wgmma, 2, 128, 3, 2>;
// CHECK: Attention::run(&queryMap, &keyMap, &valueMap, &outputGradientMap, &queryGradientMap, in3, in5, in4, reinterpret_cast<QueryStatistics *>(workspace));
// CHECK: gradient_keys(
// CHECK: using Attention = WarpgroupAttentionKeys<gradient_problem, gradient_wgmma, 2, 64, 4, true, 640>;
// CHECK: Attention::run(&queryMap, &keyMap, &valueMap, &outputGradientMap, &keyGradientMap, &valueGradientMap, reinterpret_cast<const QueryStatistics *>(workspace));
exec.kernel @gradient(%q: tensor<2x600x4x64xbf16>, %k: tensor<2x601x2x64xbf16>, %v: tensor<2x601x2x64xbf16>,
                      %o: tensor<2x600x4x64xbf16>, %l: tensor<2x4x600xf32>, %do: tensor<2x600x4x64xbf16>)
    : (memref<2x600x4x64xbf16>, memref<2x601x2x64xbf16>, memref<2x601x2x64xbf16>, memref<2x600x4x64xbf16>, memref<2x4x600xf32>,
       memref<2x600x4x64xbf16>) -> (memref<2x600x4x64xbf16>, memref<2x601x2x64xbf16>, memref<2x601x2x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<2x600x4x64xbf16>, tensor<2x601x2x64xbf16>, tensor<2x4x600xf32>
  exec.yield %dq, %dk, %dv : tensor<2x600x4x64xbf16>, tensor<2x601x2x64xbf16>, tensor<2x601x2x64xbf16>
}

// CHECK: WarpgroupAttentionQueries<gradient96_problem, gradient96_wgmma, 2, 96, 3, 2>;
// CHECK: WarpgroupAttentionKeys<gradient96_problem, gradient96_wgmma, 2, 64, 3, true, 640>;
exec.kernel @gradient96(%q: tensor<2x600x4x96xbf16>, %k: tensor<2x601x4x96xbf16>, %v: tensor<2x601x4x96xbf16>,
                        %o: tensor<2x600x4x96xbf16>, %l: tensor<2x4x600xf32>, %do: tensor<2x600x4x96xbf16>)
    : (memref<2x600x4x96xbf16>, memref<2x601x4x96xbf16>, memref<2x601x4x96xbf16>, memref<2x600x4x96xbf16>, memref<2x4x600xf32>,
       memref<2x600x4x96xbf16>) -> (memref<2x600x4x96xbf16>, memref<2x601x4x96xbf16>, memref<2x601x4x96xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64}
      : tensor<2x600x4x96xbf16>, tensor<2x601x4x96xbf16>, tensor<2x4x600xf32>
  exec.yield %dq, %dk, %dv : tensor<2x600x4x96xbf16>, tensor<2x601x4x96xbf16>, tensor<2x601x4x96xbf16>
}

// Wide heads: too few registers for matmuls of two tiles at once.
// CHECK: WarpgroupAttentionKeys<gradient128_problem, gradient128_wgmma, 2, 64, 3, false, 640>;
exec.kernel @gradient128(%q: tensor<2x600x4x128xf16>, %k: tensor<2x601x4x128xf16>, %v: tensor<2x601x4x128xf16>,
                         %o: tensor<2x600x4x128xf16>, %l: tensor<2x4x600xf32>, %do: tensor<2x600x4x128xf16>)
    : (memref<2x600x4x128xf16>, memref<2x601x4x128xf16>, memref<2x601x4x128xf16>, memref<2x600x4x128xf16>, memref<2x4x600xf32>,
       memref<2x600x4x128xf16>) -> (memref<2x600x4x128xf16>, memref<2x601x4x128xf16>, memref<2x601x4x128xf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<2x600x4x128xf16>, tensor<2x601x4x128xf16>, tensor<2x4x600xf32>
  exec.yield %dq, %dk, %dv : tensor<2x600x4x128xf16>, tensor<2x601x4x128xf16>, tensor<2x601x4x128xf16>
}

// Without some of the results.
// CHECK: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, nullptr);
exec.kernel @output_only(%q: tensor<2x300x4x64xbf16>, %k: tensor<2x300x4x64xbf16>, %v: tensor<2x300x4x64xbf16>)
    : (memref<2x300x4x64xbf16>, memref<2x300x4x64xbf16>, memref<2x300x4x64xbf16>) -> memref<2x300x4x64xbf16> {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<2x300x4x64xbf16>, tensor<2x300x4x64xbf16> -> tensor<2x4x300xf32>
  exec.yield %o : tensor<2x300x4x64xbf16>
}

// Short sequences, narrow heads, and rows that are not aligned stay with the other schedule.
// CHECK: // Schedule attention:
exec.kernel @brief(%q: tensor<4x100x12x64xbf16>, %k: tensor<4x100x12x64xbf16>, %v: tensor<4x100x12x64xbf16>)
    : (memref<4x100x12x64xbf16>, memref<4x100x12x64xbf16>, memref<4x100x12x64xbf16>) -> (memref<4x100x12x64xbf16>, memref<4x12x100xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<4x100x12x64xbf16>, tensor<4x100x12x64xbf16> -> tensor<4x12x100xf32>
  exec.yield %o, %l : tensor<4x100x12x64xbf16>, tensor<4x12x100xf32>
}

// CHECK: // Schedule attention:
exec.kernel @narrow(%q: tensor<4x300x12x32xbf16>, %k: tensor<4x300x12x32xbf16>, %v: tensor<4x300x12x32xbf16>)
    : (memref<4x300x12x32xbf16>, memref<4x300x12x32xbf16>, memref<4x300x12x32xbf16>) -> (memref<4x300x12x32xbf16>, memref<4x12x300xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<4x300x12x32xbf16>, tensor<4x300x12x32xbf16> -> tensor<4x12x300xf32>
  exec.yield %o, %l : tensor<4x300x12x32xbf16>, tensor<4x12x300xf32>
}

// CHECK: // Schedule attention:
exec.kernel @unaligned(%q: tensor<2x300x4x64xbf16>, %k: tensor<2x300x4x64xbf16>, %v: tensor<2x300x4x64xbf16>)
    : (memref<2x300x4x64xbf16, strided<[81600, 268, 67, 1]>>, memref<2x300x4x64xbf16>, memref<2x300x4x64xbf16>)
    -> (memref<2x300x4x64xbf16>, memref<2x4x300xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<2x300x4x64xbf16>, tensor<2x300x4x64xbf16> -> tensor<2x4x300xf32>
  exec.yield %o, %l : tensor<2x300x4x64xbf16>, tensor<2x4x300xf32>
}
}
