// Score functions that hide pairs by data: a function that runs first finds the tiles that kernels on sm_90a skip.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

module attributes {exec.architectures = ["sm_90a"]} {
// Documents compare an element per query with one per key. In tiles of one document, nothing but the distance hides.
// CHECK: struct documents_problem {
// CHECK: static constexpr bool interiorIsScore = true, interiorIsGeneral = false;
// CHECK: return holds0 ? score : -infinity();
// CHECK-NEXT: }
// CHECK-NEXT: __device__ TileInspection inspect(const PairTile &tile) const {
// CHECK-NEXT: const int batch = tile.batch;
// CHECK-NEXT: const Interval values0 = tile.overQueries([&](int query) { return in3[batch * 1024 + query]; });
// CHECK-NEXT: const Interval values1 = tile.overKeys([&](int key) { return in3[batch * 1024 + key]; });
// CHECK-NEXT: const Outcomes equal2 = areEqual(values0, values1);
// CHECK-NEXT: return {equal2.canHold, !equal2.canFail};
// CHECK-NEXT: }
// CHECK-NEXT: };
// CHECK: documents_tiles(
// CHECK-NEXT: unsigned char *workspace) {
// CHECK-NEXT: using Attention = MarkTiles<documents_problem, TileMask<documents_problem, 128, 128, false, 2>>;
// CHECK-NEXT: static_assert(Attention::blocks == 16 && Attention::bytes == 576);
// CHECK-NEXT: Attention::run({in3}, reinterpret_cast<TileBits *>(workspace));
// CHECK: using Attention = WarpgroupAttentionForward<documents_problem, documents_wgmma, 2, 128, 2, 2>;
// CHECK-NEXT: static_assert(Attention::tiles == 32 && Attention::sharedBytes == 115720);
// CHECK-NEXT: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, out1, {in3}, reinterpret_cast<TileBits *>(workspace));
exec.kernel @documents(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %ids: tensor<2x1024xi32>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024xi32>) -> (memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16> -> tensor<2x2x1024xf32> score(%ids : tensor<2x1024xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x1024xi32>):
    %own = cs336.element %t0[%b, %i] : tensor<2x1024xi32>
    %other = cs336.element %t0[%b, %j] : tensor<2x1024xi32>
    %visible = cs336.compare eq %own, %other : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32>
}

// If blocks compute several tiles, another function sorts them, and counts the words that blocks write apart.
// CHECK: ranked_tiles(
// CHECK: using Attention = MarkWords<ranked_problem, TileMask<ranked_problem, 128, 128, false, 2>>;
// CHECK-NEXT: static_assert(Attention::blocks == 16 && Attention::bytes == {{[0-9]+}});
// CHECK: ranked_ranks(
// CHECK-NEXT: unsigned char *workspace) {
// CHECK-NEXT: using Attention = RankTiles<TileMask<ranked_problem, 128, 128, false, 2>>;
// CHECK-NEXT: static_assert(Attention::blocks == 2);
// CHECK-NEXT: Attention::run(reinterpret_cast<TileBits *>(workspace));
// CHECK: static_assert(Attention::tiles == 192 &&
// CHECK-NEXT: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, out1, {in3}, reinterpret_cast<TileBits *>(workspace), /*isRanked=*/true);
exec.kernel @ranked(%q: tensor<2x1024x12x64xbf16>, %k: tensor<2x1024x12x64xbf16>, %v: tensor<2x1024x12x64xbf16>, %ids: tensor<2x1024xi32>)
    : (memref<2x1024x12x64xbf16>, memref<2x1024x12x64xbf16>, memref<2x1024x12x64xbf16>, memref<2x1024xi32>) -> (memref<2x1024x12x64xbf16>, memref<2x12x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<2x1024x12x64xbf16>, tensor<2x1024x12x64xbf16> -> tensor<2x12x1024xf32> score(%ids : tensor<2x1024xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x1024xi32>):
    %own = cs336.element %t0[%b, %i] : tensor<2x1024xi32>
    %other = cs336.element %t0[%b, %j] : tensor<2x1024xi32>
    %visible = cs336.compare eq %own, %other : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x12x64xbf16>, tensor<2x12x1024xf32>
}

// Lengths compare the key with an element per batch: the condition depends on the key alone.
// CHECK: struct lengths_problem {
// CHECK: __device__ TileInspection inspect(const PairTile &tile) const {
// CHECK-NEXT: const int batch = tile.batch;
// CHECK-NEXT: const Outcomes holds0 = tile.testKeys([&](int key) { return key < in3[batch]; });
// CHECK-NEXT: return {holds0.canHold, !holds0.canFail};
exec.kernel @lengths(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %lengths: tensor<2xi32>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2xi32>) -> (memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16> -> tensor<2x2x1024xf32> score(%lengths : tensor<2xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2xi32>):
    %length = cs336.element %t0[%b] : tensor<2xi32>
    %visible = cs336.compare lt %j, %length : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32>
}

// Padding in a table of booleans, and an offset of queries per batch: sums and differences of intervals.
// CHECK: struct padding_problem {
// CHECK: __device__ TileInspection inspect(const PairTile &tile) const {
// CHECK-NEXT: const int batch = tile.batch;
// CHECK-NEXT: const Outcomes holds0 = tile.testKeys([&](int key) { return in3[batch * 1024 + key]; });
// CHECK-NEXT: const Interval values1 = tile.overQueries([&](int query) { return query; });
// CHECK-NEXT: const Interval values2 = tile.overKeys([&](int key) { return key; });
// CHECK-NEXT: const Interval values3 = subtract(values1, values2);
// CHECK-NEXT: const Interval values4 = tile.overQueries([&](int query) { return in4[batch]; });
// CHECK-NEXT: const Outcomes less5 = isLess(values3, values4);
// CHECK-NEXT: const Outcomes both6 = both(holds0, opposite(less5));
// CHECK-NEXT: return {both6.canHold, !holds0.canFail && !opposite(less5).canFail};
exec.kernel @padding(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %valid: tensor<2x1024xi1>, %offsets: tensor<2xi32>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024xi1>, memref<2xi32>) -> (memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16> -> tensor<2x2x1024xf32> score(%valid, %offsets : tensor<2x1024xi1>, tensor<2xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x1024xi1>, %t1: tensor<2xi32>):
    %valid0 = cs336.element %t0[%b, %j] : tensor<2x1024xi1>
    %distance = cs336.sub %i, %j : tensor<i32>
    %offset = cs336.element %t1[%b] : tensor<2xi32>
    %near = cs336.compare ge %distance, %offset : tensor<i32>
    %visible = cs336.and %valid0, %near : tensor<i1>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32>
}

// A prefix whose keys all queries see. Neither condition hides a pair alone, but together they hide tiles. At interior
// distances every key is visible.
// CHECK: struct prefix_problem {
// CHECK: static constexpr int firstInterior = 0, lastInterior = 1023;
// CHECK-NEXT: static constexpr bool interiorIsScore = true, interiorIsGeneral = false;
// CHECK: __device__ TileInspection inspect(const PairTile &tile) const {
// CHECK-NEXT: const int batch = tile.batch;
// CHECK-NEXT: const Interval values0 = tile.overQueries([&](int query) { return query; });
// CHECK-NEXT: const Interval values1 = tile.overKeys([&](int key) { return key; });
// CHECK-NEXT: const Outcomes less2 = isLess(values0, values1);
// CHECK-NEXT: const Outcomes holds3 = tile.testKeys([&](int key) { return key < in3[batch]; });
// CHECK-NEXT: const Outcomes both4 = both(less2, opposite(holds3));
// CHECK-NEXT: return {opposite(both4).canHold, true};
exec.kernel @prefix(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %prefixes: tensor<2xi32>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2xi32>) -> (memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16> -> tensor<2x2x1024xf32> score(%prefixes : tensor<2xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2xi32>):
    %past = cs336.compare ge %i, %j : tensor<i32>
    %length = cs336.element %t0[%b] : tensor<2xi32>
    %near = cs336.compare lt %j, %length : tensor<i32>
    %visible = cs336.or %past, %near : tensor<i1>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32>
}

// Nothing can be skipped: the condition depends on the score, on the head, on a table of pairs, or compares floats that
// may be NaN.
// CHECK: struct scores_problem {
// CHECK-NOT: inspect
// CHECK-NOT: MarkTiles<scores
// CHECK: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, out1, {in3});
exec.kernel @scores(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %least: tensor<2xf32>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2xf32>) -> (memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16> -> tensor<2x2x1024xf32> score(%least : tensor<2xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2xf32>):
    %bound = cs336.element %t0[%b] : tensor<2xf32>
    %visible = cs336.compare ge %s, %bound : tensor<f32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32>
}
// CHECK: struct heads_problem {
// CHECK-NOT: inspect
// CHECK-NOT: MarkTiles<heads
// CHECK: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, out1, {in3});
exec.kernel @heads(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %lengths: tensor<2xi32>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2xi32>) -> (memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16> -> tensor<2x2x1024xf32> score(%lengths : tensor<2xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2xi32>):
    %length = cs336.element %t0[%h] : tensor<2xi32>
    %visible = cs336.compare lt %j, %length : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32>
}
// CHECK: struct pairs_problem {
// CHECK-NOT: inspect
// CHECK-NOT: MarkTiles<pairs
// CHECK: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, out1, {in3});
exec.kernel @pairs(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %mask: tensor<1024x1024xi1>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<1024x1024xi1>) -> (memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16> -> tensor<2x2x1024xf32> score(%mask : tensor<1024x1024xi1>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<1024x1024xi1>):
    %visible = cs336.element %t0[%i, %j] : tensor<1024x1024xi1>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32>
}
// CHECK: struct floats_problem {
// CHECK-NOT: inspect
// CHECK-NOT: MarkTiles<floats
// CHECK: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, out1, {in3});
exec.kernel @floats(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %times: tensor<2x1024xf32>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024xf32>) -> (memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16> -> tensor<2x2x1024xf32> score(%times : tensor<2x1024xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x1024xf32>):
    %own = cs336.element %t0[%b, %i] : tensor<2x1024xf32>
    %other = cs336.element %t0[%b, %j] : tensor<2x1024xf32>
    %visible = cs336.compare ge %own, %other : tensor<f32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32>
}

// Short sequences: the launch of another function takes longer than it saves.
// CHECK: struct brief_problem {
// CHECK-NOT: inspect
// CHECK-NOT: MarkTiles<brief
// CHECK: Attention::run(&queryMap, &keyMap, &valueMap, &outputMap, out1, {in3});
exec.kernel @brief(%q: tensor<2x1000x2x64xbf16>, %k: tensor<2x1000x2x64xbf16>, %v: tensor<2x1000x2x64xbf16>, %ids: tensor<2x1000xi32>)
    : (memref<2x1000x2x64xbf16>, memref<2x1000x2x64xbf16>, memref<2x1000x2x64xbf16>, memref<2x1000xi32>) -> (memref<2x1000x2x64xbf16>, memref<2x2x1000xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<2x1000x2x64xbf16>, tensor<2x1000x2x64xbf16> -> tensor<2x2x1000xf32> score(%ids : tensor<2x1000xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x1000xi32>):
    %own = cs336.element %t0[%b, %i] : tensor<2x1000xi32>
    %other = cs336.element %t0[%b, %j] : tensor<2x1000xi32>
    %visible = cs336.compare eq %own, %other : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x1000x2x64xbf16>, tensor<2x2x1000xf32>
}

// Long sequences of many narrow heads: three warpgroups.
// CHECK: using Attention = MarkWords<long_documents_problem, TileMask<long_documents_problem, 192, 128, false, 3>>;
// CHECK: using Attention = WarpgroupAttentionForward<long_documents_problem, long_documents_wgmma, 3, 128, 2, 2>;
exec.kernel @long_documents(%q: tensor<2x4096x8x64xbf16>, %k: tensor<2x4096x8x64xbf16>, %v: tensor<2x4096x8x64xbf16>, %ids: tensor<2x4096xi32>)
    : (memref<2x4096x8x64xbf16>, memref<2x4096x8x64xbf16>, memref<2x4096x8x64xbf16>, memref<2x4096xi32>) -> (memref<2x4096x8x64xbf16>, memref<2x8x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<2x4096x8x64xbf16>, tensor<2x4096x8x64xbf16> -> tensor<2x8x4096xf32> score(%ids : tensor<2x4096xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x4096xi32>):
    %own = cs336.element %t0[%b, %i] : tensor<2x4096xi32>
    %other = cs336.element %t0[%b, %j] : tensor<2x4096xi32>
    %visible = cs336.compare eq %own, %other : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x4096x8x64xbf16>, tensor<2x8x4096xf32>
}

// The same with scores that are computed: two warpgroups, which have more registers.
// CHECK: using Attention = WarpgroupAttentionForward<capped_documents_problem, capped_documents_wgmma, 2, 128, 2, 2>;
exec.kernel @capped_documents(%q: tensor<2x4096x2x64xbf16>, %k: tensor<2x4096x2x64xbf16>, %v: tensor<2x4096x2x64xbf16>, %ids: tensor<2x4096xi32>)
    : (memref<2x4096x2x64xbf16>, memref<2x4096x2x64xbf16>, memref<2x4096x2x64xbf16>, memref<2x4096xi32>) -> (memref<2x4096x2x64xbf16>, memref<2x2x4096xf32>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<2x4096x2x64xbf16>, tensor<2x4096x2x64xbf16> -> tensor<2x2x4096xf32> score(%ids : tensor<2x4096xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x4096xi32>):
    %own = cs336.element %t0[%b, %i] : tensor<2x4096xi32>
    %other = cs336.element %t0[%b, %j] : tensor<2x4096xi32>
    %visible = cs336.compare eq %own, %other : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %capped = cs336.tanh %s : tensor<f32>
    %r = cs336.select %visible, %capped, %hidden : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  exec.yield %o, %l : tensor<2x4096x2x64xbf16>, tensor<2x2x4096xf32>
}

// The gradient in one pass has masks for blocks of keys and for the sums of dQ, at the end of the workspace.
// CHECK: struct one_pass_problem {
// CHECK: one_pass_tiles(
// CHECK: using Attention = MarkTiles<one_pass_problem, TileMask<one_pass_problem, 64, 128, true>, TileMask<one_pass_problem, 64, 128, false>>;
// CHECK-NEXT: static_assert(Attention::blocks == 48 && Attention::bytes == 1152);
// CHECK-NEXT: Attention::run({in6}, reinterpret_cast<TileBits *>(workspace + 1082628));
// CHECK: Attention::run(in1, in3, in5, in4, workspace, {in6});
// CHECK: using Attention = WarpgroupGradientSums<one_pass_problem, one_pass_wgmma, 2, 4, 2, 3, true>;
// CHECK-NEXT: static_assert(Attention::tiles == 32 && Attention::sharedBytes == 199828 && Attention::workspaceBytes == 1083780);
// CHECK-NEXT: Attention::run(&queryMap, &keyMap, &valueMap, &outputGradientMap, &keyGradientMap, &valueGradientMap, workspace, {in6});
exec.kernel @one_pass(%q: tensor<2x1024x2x64xbf16>, %k: tensor<2x1024x2x64xbf16>, %v: tensor<2x1024x2x64xbf16>, %o: tensor<2x1024x2x64xbf16>, %l: tensor<2x2x1024xf32>, %do: tensor<2x1024x2x64xbf16>, %ids: tensor<2x1024xi32>)
    : (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x2x1024xf32>, memref<2x1024x2x64xbf16>, memref<2x1024xi32>)
    -> (memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>, memref<2x1024x2x64xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16>, tensor<2x2x1024xf32> score(%ids : tensor<2x1024xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x1024xi32>):
    %own = cs336.element %t0[%b, %i] : tensor<2x1024xi32>
    %other = cs336.element %t0[%b, %j] : tensor<2x1024xi32>
    %visible = cs336.compare eq %own, %other : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %none = cs336.constant dense<0.0> : tensor<f32>
    %r = cs336.select %visible, %s, %hidden : tensor<f32>
    %d = cs336.select %visible, %one, %none : tensor<f32>
    cs336.yield %r, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16>, tensor<2x1024x2x64xbf16>
}

// In two passes, as for wide heads below 2048 positions, each function has its own mask. Derivatives are folded in whole tiles too.
// CHECK: struct two_passes_problem {
// CHECK: __device__ float computeInterior(
// CHECK-NEXT: const float tangent0 = approximateTanh(score);
// CHECK-NEXT: derivative = 1.0f - tangent0 * tangent0;
// CHECK-NEXT: return tangent0;
// CHECK: using Attention = MarkTiles<two_passes_problem, TileMask<two_passes_problem, 128, 48, false>, TileMask<two_passes_problem, 64, 128, true>>;
// CHECK-NEXT: static_assert(Attention::blocks == 32 && Attention::bytes == 768);
// CHECK-NEXT: Attention::run({in6}, reinterpret_cast<TileBits *>(workspace + 32768));
// CHECK: Attention::run({{.*}}, reinterpret_cast<QueryStatistics *>(workspace), {in6}, reinterpret_cast<const TileBits *>(workspace + 32768));
// CHECK: Attention::run({{.*}}, reinterpret_cast<const QueryStatistics *>(workspace), {in6}, reinterpret_cast<const TileBits *>(workspace + 33152));
exec.kernel @two_passes(%q: tensor<2x1024x2x128xbf16>, %k: tensor<2x1024x2x128xbf16>, %v: tensor<2x1024x2x128xbf16>, %o: tensor<2x1024x2x128xbf16>, %l: tensor<2x2x1024xf32>, %do: tensor<2x1024x2x128xbf16>, %ids: tensor<2x1024xi32>)
    : (memref<2x1024x2x128xbf16>, memref<2x1024x2x128xbf16>, memref<2x1024x2x128xbf16>, memref<2x1024x2x128xbf16>, memref<2x2x1024xf32>, memref<2x1024x2x128xbf16>, memref<2x1024xi32>)
    -> (memref<2x1024x2x128xbf16>, memref<2x1024x2x128xbf16>, memref<2x1024x2x128xbf16>) {
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64, causal}
      : tensor<2x1024x2x128xbf16>, tensor<2x1024x2x128xbf16>, tensor<2x2x1024xf32> score(%ids : tensor<2x1024xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %t0: tensor<2x1024xi32>):
    %own = cs336.element %t0[%b, %i] : tensor<2x1024xi32>
    %other = cs336.element %t0[%b, %j] : tensor<2x1024xi32>
    %visible = cs336.compare eq %own, %other : tensor<i32>
    %hidden = cs336.constant dense<0xFF800000> : tensor<f32>
    %one = cs336.constant dense<1.0> : tensor<f32>
    %none = cs336.constant dense<0.0> : tensor<f32>
    %tanh = cs336.tanh %s : tensor<f32>
    %square = cs336.mul %tanh, %tanh : tensor<f32>
    %slope = cs336.sub %one, %square : tensor<f32>
    %r = cs336.select %visible, %tanh, %hidden : tensor<f32>
    %d = cs336.select %visible, %slope, %none : tensor<f32>
    cs336.yield %r, %d : tensor<f32>, tensor<f32>
  }
  exec.yield %dq, %dk, %dv : tensor<2x1024x2x128xbf16>, tensor<2x1024x2x128xbf16>, tensor<2x1024x2x128xbf16>
}
}
