//===- WarpgroupText.h - The text of attention by warpgroups ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pieces of the forward kernel and of both forms of the gradient as functions of the host, in the order of a
// kernel's text.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_WARPGROUPTEXT_H
#define CS336_TEST_RUNTIME_WARPGROUPTEXT_H

#include "cuda_on_host.h"

// clang-format off
#include "scalar.cuh"
#include "vector.cuh"
#include "reduce.cuh"
#include "async_copy.cuh"
#include "mma.cuh"
#include "head_layout.cuh"
#include "attention.cuh"
#include "barrier.cuh"
#include "ring.cuh"
#include "tensor_copy.cuh"
#include "wgmma.cuh"
#include "slab_tile.cuh"
#include "warpgroup.cuh"
#include "warpgroup_roles.cuh"
#include "tile_queue.cuh"
#include "query_tile.cuh"
#include "warpgroup_mask.cuh"
#include "warpgroup_softmax.cuh"
#include "warpgroup_epilogue.cuh"
#include "warpgroup_attention_forward.cuh"
#include "sampled_mean.cuh"
#include "key_gradient_tile.cuh"
#include "warpgroup_slopes.cuh"
#include "warpgroup_attention_queries.cuh"
#include "warpgroup_attention_keys.cuh"
#include "warpgroup_key_order.cuh"
#include "ordered_sums.cuh"
#include "warpgroup_gradient.cuh"
#include "warpgroup_gradient_prepare.cuh"
#include "warpgroup_gradient_block.cuh"
#include "warpgroup_gradient_slopes.cuh"
#include "warpgroup_gradient_keys.cuh"
#include "warpgroup_gradient_queries.cuh"
#include "warpgroup_gradient_sums.cuh"
#include "warpgroup_gradient_round.cuh"
// clang-format on

#include <type_traits>

/// Runs a kernel whose parameters are pointers.
template <typename... Parameters>
void launchBlocks(void (*kernel)(Parameters...), int blocks, int threads, size_t sharedBytes,
                  std::type_identity_t<Parameters>... buffers) {
  void *const pointers[] = {const_cast<void *>(static_cast<const void *>(buffers))...};
  runOnHost(kernel, pointers, blocks, threads, sharedBytes);
}

/// An attention of contiguous operands [batch, position, head, element], as generated text describes it.
template <int numBatches, int numQueryHeads, int numKeyHeads, int numQueries, int numKeys, int dimension, bool causal>
struct HostProblem {
  static constexpr int batches = numBatches, queryHeads = numQueryHeads, keyHeads = numKeyHeads;
  static constexpr int queries = numQueries, keys = numKeys, headDim = dimension;
  static constexpr float scale = 0.125f;
  static constexpr bool isCausal = causal;
  template <int positions, int heads>
  using Layout = HeadLayout<1ll * positions * heads * headDim, static_cast<long long>(heads) * headDim, headDim, 16>;
  using QueryLayout = Layout<queries, queryHeads>;
  using KeyLayout = Layout<keys, keyHeads>;
  using ValueLayout = KeyLayout;
  using OutputLayout = QueryLayout;
  using OutputGradientLayout = QueryLayout;
  /// [batch, head, query].
  using LogSumExpLayout = HeadLayout<1ll * queryHeads * queries, 1, queries, 4>;
};

/// The same with a score function that hides keys more than `before` positions before a query, or more than `after`
/// after it.
template <class Base, int before, int after>
struct WindowProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = true, interiorIsScore = true, interiorIsGeneral = false;
    static constexpr int firstDistance = Base::isCausal && after > 0 ? 0 : -after, lastDistance = before;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;

    float compute(float dot, int /*batch*/, int /*head*/, int query, int key) const {
      return query - key <= before && query - key >= -after ? dot : -infinity();
    }
  };
};

/// Returns whether a query sees a key.
template <class Problem>
bool isVisible(int query, int key) {
  if (key >= Problem::keys || (Problem::isCausal && key > query))
    return false;
  if constexpr (ScoreOf<Problem>::exists)
    return query - key >= ScoreOf<Problem>::firstDistance && query - key <= ScoreOf<Problem>::lastDistance;
  else
    return true;
}

#endif // CS336_TEST_RUNTIME_WARPGROUPTEXT_H
