// The gradient of long sequences with score functions on sm_90a: in one pass, unless a person chooses two.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false %s -o %t.mlir
// RUN: FileCheck %s --check-prefix=SELECT < %t.mlir

// RUN: sed 's/passes = 1 : i64, \(schedule = "warpgroup_attention"\), sums = {[^}]*}/passes = 2 : i64, \1/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=TWO '--implicit-check-not=Attention = WarpgroupGradient'
// TWO: using Attention = WarpgroupAttentionQueries<window_problem, window_wgmma, 2, 96, 3, 2>;
// TWO: Attention::run(&queryMap, &keyMap, &valueMap, &outputGradientMap, &queryGradientMap, in3, in5, in4, reinterpret_cast<QueryStatistics *>(workspace), {});
// TWO: using Attention = WarpgroupAttentionKeys<window_problem, window_wgmma, 2, 64, 4, true, 4096>;
// TWO: Attention::run(&queryMap, &keyMap, &valueMap, &outputGradientMap, &keyGradientMap, &valueGradientMap, reinterpret_cast<const QueryStatistics *>(workspace), {});
// RUN: sed '/@brief/s/keys = {[^}]*}, passes = 2 : i64, queries = {[^}]*}/passes = 1 : i64/' %t.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=ONE
// ONE: using Attention = WarpgroupGradientSums<brief_problem,

module attributes {exec.architectures = ["sm_90a"]} {
// The function is an argument of the function that computes scores. Shared memory contains the first key and the number
// and the head of each tile of queries: 4 + 4 · 8 bytes.
// CHECK: struct window_problem {
// CHECK: static constexpr bool exists = true, onlyHides = true, returnsDerivative = false;
// CHECK-NEXT: static constexpr int firstDistance = 0, lastDistance = 1023;
// CHECK: Attention::run(in1, in3, in5, in4, workspace, {});
// CHECK: using Attention = WarpgroupGradientSums<window_problem, window_wgmma, 8, 4, 2, 3, true>;
// CHECK-NEXT: static_assert(Attention::tiles == 512 && Attention::sharedBytes == 199764 && Attention::workspaceBytes == 17309700);
// CHECK-NEXT: Attention::run(&queryMap, &keyMap, &valueMap, &outputGradientMap, &keyGradientMap, &valueGradientMap, workspace, {});
// CHECK: Attention::run(&queryGradientMap, workspace);
// SELECT: exec.kernel @window
// SELECT-SAME: exec.schedules = {sm_90a = [{passes = 1 : i64, schedule = "warpgroup_attention", sums =
exec.kernel @window(%q: tensor<1x4096x16x64xbf16>, %k: tensor<1x4096x16x64xbf16>, %v: tensor<1x4096x16x64xbf16>,
                    %o: tensor<1x4096x16x64xbf16>, %l: tensor<1x16x4096xf32>, %do: tensor<1x4096x16x64xbf16>)
    : (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x16x4096xf32>,
       memref<1x4096x16x64xbf16>) -> (memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>, memref<1x4096x16x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64}
      : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>, tensor<1x16x4096xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %distance = cs336.sub %i, %j : tensor<i32>
    %zero = cs336.constant dense<0> : tensor<i32>
    %last = cs336.constant dense<1023> : tensor<i32>
    %seen = cs336.compare ge %distance, %zero : tensor<i32>
    %near = cs336.compare le %distance, %last : tensor<i32>
    %visible = cs336.and %seen, %near : tensor<i1>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %none = cs336.constant dense<0.0> : tensor<f32>
    %d = cs336.select %visible, %one, %none : tensor<f32>
    cs336.yield %r, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>, tensor<1x4096x16x64xbf16>
}

// A bias by head and distance is added to the scaled score, and documents hide scores: the derivative is 1 or does not
// matter. Wide heads.
// CHECK: struct bias_problem {
// CHECK: static constexpr bool exists = true, onlyHides = false, returnsDerivative = false;
// CHECK: const int *in6;
// CHECK-NEXT: const float *in7;
// CHECK-NEXT: __device__ float compute(float score, int batch, int head, int query, int key) const {
// CHECK: __device__ float computeInterior(float score, int batch, int head, int query, int key) const {
// CHECK-NEXT: return in7[head] * static_cast<float>(key - query) + score;
// CHECK: __device__ TileInspection inspect(const PairTile &tile) const {
// CHECK: using Attention = MarkTiles<bias_problem, TileMask<bias_problem, 64, 128, true>, TileMask<bias_problem, 64, 128, false>>;
// CHECK: Attention::run(in1, in3, in5, in4, workspace, {in6, in7});
// CHECK: using Attention = WarpgroupGradientSums<bias_problem, bias_wgmma, 2, 2, 1, 3, false>;
// CHECK: workspace, {in6, in7});
// SELECT: exec.kernel @bias
// SELECT-SAME: exec.schedules = {sm_90a = [{passes = 1 : i64, schedule = "warpgroup_attention", sums =
exec.kernel @bias(%q: tensor<2x2100x10x128xf16>, %k: tensor<2x2100x2x128xf16>, %v: tensor<2x2100x2x128xf16>,
                  %o: tensor<2x2100x10x128xf16>, %l: tensor<2x10x2100xf32>, %do: tensor<2x2100x10x128xf16>,
                  %ids: tensor<2x2100xi32>, %slopes: tensor<10xf32>)
    : (memref<2x2100x10x128xf16>, memref<2x2100x2x128xf16>, memref<2x2100x2x128xf16>, memref<2x2100x10x128xf16>, memref<2x10x2100xf32>,
       memref<2x2100x10x128xf16>, memref<2x2100xi32>, memref<10xf32>) -> (memref<2x2100x10x128xf16>, memref<2x2100x2x128xf16>, memref<2x2100x2x128xf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.088 : f64, causal}
      : tensor<2x2100x10x128xf16>, tensor<2x2100x2x128xf16>, tensor<2x10x2100xf32> score(%ids, %slopes : tensor<2x2100xi32>, tensor<10xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t: tensor<2x2100xi32>, %u: tensor<10xf32>):
    %slope = cs336.element %u[%h] : tensor<10xf32>
    %distance = cs336.sub %j, %i : tensor<i32>
    %number = cs336.cast %distance : tensor<i32> -> tensor<f32>
    %bias = cs336.mul %slope, %number : tensor<f32>
    %sum = cs336.add %bias, %s : tensor<f32>
    %own = cs336.element %t[%b, %i] : tensor<2x2100xi32>
    %other = cs336.element %t[%b, %j] : tensor<2x2100xi32>
    %same = cs336.compare eq %own, %other : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %same, %sum, %hidden : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %none = cs336.constant dense<0.0> : tensor<f32>
    %d = cs336.select %same, %one, %none : tensor<f32>
    cs336.yield %r, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<2x2100x10x128xf16>, tensor<2x2100x2x128xf16>, tensor<2x2100x2x128xf16>
}

// Functions that do not only add to the score have derivatives: a cap, and a choice that depends on the score. In two
// passes, they take registers, so tiles are smaller and do not overlap.
// CHECK: struct cap_problem {
// CHECK: returnsDerivative = true;
// CHECK: using Attention = WarpgroupGradientSums<cap_problem, cap_wgmma, 1, 4, 2, 3, true>;
// TWO: using Attention = WarpgroupAttentionQueries<cap_problem, cap_wgmma, 2, 64, 3, 2>;
// TWO: using Attention = WarpgroupAttentionKeys<cap_problem, cap_wgmma, 2, 64, 4, false, 2048>;
// SELECT: exec.kernel @cap
// SELECT-SAME: passes = 1
exec.kernel @cap(%q: tensor<1x2048x2x64xbf16>, %o: tensor<1x2048x2x64xbf16>, %l: tensor<1x2x2048xf32>, %do: tensor<1x2048x2x64xbf16>)
    : (memref<1x2048x2x64xbf16>, memref<1x2048x2x64xbf16>, memref<1x2x2048xf32>, memref<1x2048x2x64xbf16>)
    -> (memref<1x2048x2x64xbf16>, memref<1x2048x2x64xbf16>, memref<1x2048x2x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x2048x2x64xbf16>, tensor<1x2048x2x64xbf16>, tensor<1x2x2048xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %tanh = cs336.tanh %s : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %square = cs336.mul %tanh, %tanh : tensor<f32>
    %d = cs336.sub %one, %square : tensor<f32>
    cs336.yield %tanh, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<1x2048x2x64xbf16>, tensor<1x2048x2x64xbf16>, tensor<1x2048x2x64xbf16>
}

// The other sizes of tiles: smaller ones for wide heads, which take more registers, and larger ones for narrow heads.
// CHECK: using Attention = WarpgroupGradientSums<wide_cap_problem, wide_cap_wgmma, 1, 2, 1, 3, false>;
// TWO: using Attention = WarpgroupAttentionQueries<wide_cap_problem, wide_cap_wgmma, 2, 48, 3, 2>;
// TWO: using Attention = WarpgroupAttentionKeys<wide_cap_problem, wide_cap_wgmma, 2, 64, 3, false, 2048>;
exec.kernel @wide_cap(%q: tensor<1x2048x2x128xf16>, %o: tensor<1x2048x2x128xf16>, %l: tensor<1x2x2048xf32>, %do: tensor<1x2048x2x128xf16>)
    : (memref<1x2048x2x128xf16>, memref<1x2048x2x128xf16>, memref<1x2x2048xf32>, memref<1x2048x2x128xf16>)
    -> (memref<1x2048x2x128xf16>, memref<1x2048x2x128xf16>, memref<1x2048x2x128xf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x2048x2x128xf16>, tensor<1x2048x2x128xf16>, tensor<1x2x2048xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %tanh = cs336.tanh %s : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %square = cs336.mul %tanh, %tanh : tensor<f32>
    %d = cs336.sub %one, %square : tensor<f32>
    cs336.yield %tanh, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<1x2048x2x128xf16>, tensor<1x2048x2x128xf16>, tensor<1x2048x2x128xf16>
}

// CHECK: using Attention = WarpgroupGradientSums<medium_cap_problem, medium_cap_wgmma, 1, 2, 1, 3, false>;
// TWO: using Attention = WarpgroupAttentionQueries<medium_cap_problem, medium_cap_wgmma, 2, 64, 3, 2>;
exec.kernel @medium_cap(%q: tensor<1x2048x2x96xbf16>, %o: tensor<1x2048x2x96xbf16>, %l: tensor<1x2x2048xf32>, %do: tensor<1x2048x2x96xbf16>)
    : (memref<1x2048x2x96xbf16>, memref<1x2048x2x96xbf16>, memref<1x2x2048xf32>, memref<1x2048x2x96xbf16>)
    -> (memref<1x2048x2x96xbf16>, memref<1x2048x2x96xbf16>, memref<1x2048x2x96xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x2048x2x96xbf16>, tensor<1x2048x2x96xbf16>, tensor<1x2x2048xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %tanh = cs336.tanh %s : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %square = cs336.mul %tanh, %tanh : tensor<f32>
    %d = cs336.sub %one, %square : tensor<f32>
    cs336.yield %tanh, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<1x2048x2x96xbf16>, tensor<1x2048x2x96xbf16>, tensor<1x2048x2x96xbf16>
}

// CHECK: using Attention = WarpgroupGradientSums<narrow_cap_problem, narrow_cap_wgmma, 1, 4, 2, 3, true>;
// TWO: using Attention = WarpgroupAttentionQueries<narrow_cap_problem, narrow_cap_wgmma, 2, 80, 3, 2>;
exec.kernel @narrow_cap(%q: tensor<1x2048x2x40xbf16>, %o: tensor<1x2048x2x40xbf16>, %l: tensor<1x2x2048xf32>, %do: tensor<1x2048x2x40xbf16>)
    : (memref<1x2048x2x40xbf16>, memref<1x2048x2x40xbf16>, memref<1x2x2048xf32>, memref<1x2048x2x40xbf16>)
    -> (memref<1x2048x2x40xbf16>, memref<1x2048x2x40xbf16>, memref<1x2048x2x40xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x2048x2x40xbf16>, tensor<1x2048x2x40xbf16>, tensor<1x2x2048xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %tanh = cs336.tanh %s : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %square = cs336.mul %tanh, %tanh : tensor<f32>
    %d = cs336.sub %one, %square : tensor<f32>
    cs336.yield %tanh, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<1x2048x2x40xbf16>, tensor<1x2048x2x40xbf16>, tensor<1x2048x2x40xbf16>
}

// CHECK: struct chosen_problem {
// CHECK: returnsDerivative = true;
// SELECT: exec.kernel @chosen
// SELECT-SAME: passes = 1
exec.kernel @chosen(%q: tensor<1x2048x2x64xbf16>, %o: tensor<1x2048x2x64xbf16>, %l: tensor<1x2x2048xf32>, %do: tensor<1x2048x2x64xbf16>)
    : (memref<1x2048x2x64xbf16>, memref<1x2048x2x64xbf16>, memref<1x2x2048xf32>, memref<1x2048x2x64xbf16>)
    -> (memref<1x2048x2x64xbf16>, memref<1x2048x2x64xbf16>, memref<1x2048x2x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x2048x2x64xbf16>, tensor<1x2048x2x64xbf16>, tensor<1x2x2048xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %one = cs336.constant dense<1.0> : tensor<f32>
    %none = cs336.constant dense<0.0> : tensor<f32>
    %large = cs336.compare gt %s, %one : tensor<f32>
    %more = cs336.add %s, %one : tensor<f32>
    %r = cs336.select %large, %one, %more : tensor<f32>
    %d = cs336.select %large, %none, %one : tensor<f32>
    cs336.yield %r, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<1x2048x2x64xbf16>, tensor<1x2048x2x64xbf16>, tensor<1x2048x2x64xbf16>
}

// For short sequences two passes are faster. They need no derivative of a bias either.
// CHECK: struct brief_problem {
// CHECK: onlyHides = false, returnsDerivative = false;
// CHECK: using Attention = WarpgroupAttentionQueries<brief_problem, brief_wgmma, 2, 96, 3, 2>;
// SELECT: exec.kernel @brief
// SELECT-SAME: passes = 2
exec.kernel @brief(%q: tensor<1x900x2x64xbf16>, %o: tensor<1x900x2x64xbf16>, %l: tensor<1x2x900xf32>, %do: tensor<1x900x2x64xbf16>)
    : (memref<1x900x2x64xbf16>, memref<1x900x2x64xbf16>, memref<1x2x900xf32>, memref<1x900x2x64xbf16>)
    -> (memref<1x900x2x64xbf16>, memref<1x900x2x64xbf16>, memref<1x900x2x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<1x900x2x64xbf16>, tensor<1x900x2x64xbf16>, tensor<1x2x900xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %distance = cs336.sub %i, %j : tensor<i32>
    %number = cs336.cast %distance : tensor<i32> -> tensor<f32>
    %slope = cs336.constant dense<0.5> : tensor<f32>
    %bias = cs336.mul %slope, %number : tensor<f32>
    %r = cs336.sub %s, %bias : tensor<f32>
    %d = cs336.constant dense<1.0> : tensor<f32>
    cs336.yield %r, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<1x900x2x64xbf16>, tensor<1x900x2x64xbf16>, tensor<1x900x2x64xbf16>
}
}
