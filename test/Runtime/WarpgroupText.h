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
#include "pair_tile.cuh"
#include "tile_mask.cuh"
#include "visited_tiles.cuh"
#include "barrier.cuh"
#include "ring.cuh"
#include "tensor_copy.cuh"
#include "wgmma.cuh"
#include "slab_tile.cuh"
#include "warpgroup.cuh"
#include "warpgroup_roles.cuh"
#include "tile_queue.cuh"
#include "query_tile.cuh"
#include "warpgroup_bias.cuh"
#include "warpgroup_mask.cuh"
#include "warpgroup_key_tiles.cuh"
#include "warpgroup_scores.cuh"
#include "warpgroup_softmax.cuh"
#include "warpgroup_soft_cap.cuh"
#include "warpgroup_bias_steps.cuh"
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

#include <cmath>
#include <type_traits>
#include <utility>

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
    static constexpr bool exists = true, onlyHides = true, returnsDerivative = false;
    static constexpr bool interiorIsScore = true, interiorIsGeneral = false;
    static constexpr int firstDistance = Base::isCausal && after > 0 ? 0 : -after, lastDistance = before;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;

    float compute(float dot, int /*batch*/, int /*head*/, int query, int key) const {
      return query - key <= before && query - key >= -after ? dot : -infinity();
    }
  };
};

/// The same, where visible scores also have a bias that depends on the distance and the head. The window is the
/// interior of the function.
template <class Base, int before, int after>
struct BiasProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, returnsDerivative = false;
    static constexpr bool interiorIsScore = false, interiorIsGeneral = false;
    static constexpr int firstDistance = Base::isCausal && after > 0 ? 0 : -after, lastDistance = before;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;

    float compute(float score, int batch, int head, int query, int key) const {
      const bool isVisible = query - key <= before && query - key >= -after;
      return isVisible ? computeInterior(score, batch, head, query, key) : -infinity();
    }
    float computeInterior(float score, int /*batch*/, int head, int query, int key) const {
      return score + 0.01f * static_cast<float>((head + 1) * (key - query));
    }
  };
};

/// The same as a bias that kernels add in steps.
template <class Base, int before, int after>
struct SlopeProblem : Base {
  struct Score : BiasProblem<Base, before, after>::Score {
    static constexpr bool biasHasSteps = true, biasIsOfDistance = true;
    BiasSteps getBiasSteps(int /*batch*/, int head) const {
      const float slope = 0.01f * static_cast<float>(head + 1);
      return {-slope, slope};
    }
  };
};

/// The same for a bias with different steps of queries and keys.
template <class Base, int before, int after>
struct PlaneProblem : Base {
  struct Score : BiasProblem<Base, before, after>::Score {
    static constexpr bool biasHasSteps = true, biasIsOfDistance = false;

    float compute(float score, int batch, int head, int query, int key) const {
      const bool isVisible = query - key <= before && query - key >= -after;
      return isVisible ? computeInterior(score, batch, head, query, key) : -infinity();
    }
    float computeInterior(float score, int batch, int head, int query, int key) const {
      const BiasSteps steps = getBiasSteps(batch, head);
      return score + (steps.ofQuery * static_cast<float>(query) + steps.ofKey * static_cast<float>(key) + 0.5f);
    }
    BiasSteps getBiasSteps(int batch, int head) const {
      return {0.002f * static_cast<float>(batch + 1), 0.01f * static_cast<float>(head + 1)};
    }
  };
};

/// One of these biases whose steps a matmul adds.
template <class Problem>
struct MultipliedSteps : Problem {
  struct Score : Problem::Score {
    static constexpr bool multipliesSteps = true;
  };
};

/// The same with a bias that depends on the distance up to `reach`, and is a number by head for farther keys.
template <class Base, int reach>
struct FarBiasProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, returnsDerivative = false;
    static constexpr bool interiorIsScore = false, interiorIsGeneral = false;
    static constexpr int firstDistance = Base::isCausal ? 0 : 1 - Base::keys, lastDistance = Base::queries - 1;
    static constexpr int firstInterior = reach, lastInterior = lastDistance;
    static constexpr bool biasHasSteps = false, biasIsOfDistance = true;

    float compute(float score, int /*batch*/, int head, int query, int key) const {
      const int distance = query - key < reach ? query - key : reach;
      return score + 0.01f * static_cast<float>((head + 1) * distance);
    }
    float computeInterior(float score, int batch, int head, int /*query*/, int /*key*/) const {
      return compute(score, batch, head, reach, 0);
    }
    BiasSteps getBiasSteps(int /*batch*/, int /*head*/) const { return {0, 0}; }
  };
};

/// The same with a bias that changes in steps up to the distance `reach`, and is a number by head for farther keys.
template <class Base, int reach>
struct NearBiasProblem : Base {
  struct Score : SlopeProblem<Base, Base::queries - 1, Base::keys - 1>::Score {
    static constexpr int lastInterior = reach;

    float compute(float score, int batch, int head, int query, int key) const {
      return this->computeInterior(score, batch, head, query - key < reach ? query : key + reach, key);
    }
  };
};

/// The same with a score function that hides keys of other documents. Documents have 70 positions.
template <class Base>
struct DocumentProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = true, returnsDerivative = false;
    static constexpr bool interiorIsScore = false, interiorIsGeneral = true;
    static constexpr int firstDistance = Base::isCausal ? 0 : 1 - Base::keys, lastDistance = Base::queries - 1;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;

    float compute(float dot, int /*batch*/, int /*head*/, int query, int key) const {
      // Functions read tables at existing pairs only.
      if (query >= Base::queries || key >= Base::keys)
        return NAN;
      return query / 70 == key / 70 ? dot : -infinity();
    }
  };
};

/// The same with a soft cap, whose derivative is not 1, of the scores of a window. `returnsTheDerivative` is true in
/// gradients.
template <class Base, int before, int after, bool returnsTheDerivative>
struct CapProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, returnsDerivative = returnsTheDerivative;
    static constexpr bool interiorIsScore = false, interiorIsGeneral = false;
    static constexpr int firstDistance = Base::isCausal && after > 0 ? 0 : -after, lastDistance = before;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;

    float compute(float score, int batch, int head, int query, int key, float &derivative) const {
      if (query - key <= before && query - key >= -after)
        return computeInterior(score, batch, head, query, key, derivative);
      derivative = 0;
      return -infinity();
    }
    float computeInterior(float score, int /*batch*/, int /*head*/, int /*query*/, int /*key*/,
                          float &derivative) const {
      const float tangent = std::tanh(score / 2);
      derivative = 1 - tangent * tangent;
      return 2 * tangent;
    }
    float compute(float score, int batch, int head, int query, int key) const {
      float derivative;
      return compute(score, batch, head, query, key, derivative);
    }
    float computeInterior(float score, int batch, int head, int query, int key) const {
      float derivative;
      return computeInterior(score, batch, head, query, key, derivative);
    }
  };
};

/// The same with a score function that is a fourth of the scaled score.
template <class Base>
struct QuarterProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, returnsDerivative = true;
    static constexpr bool interiorIsScore = false, interiorIsGeneral = true;
    static constexpr int firstDistance = Base::isCausal ? 0 : 1 - Base::keys, lastDistance = Base::queries - 1;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;

    float compute(float score, int /*batch*/, int /*head*/, int /*query*/, int /*key*/, float &derivative) const {
      derivative = 0.25f;
      return score / 4;
    }
  };
};

/// The same with a soft cap that the softmax computes.
template <class Base, int before, int after, int cap>
struct SoftCapProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, returnsDerivative = false;
    static constexpr bool interiorIsScore = false, interiorIsGeneral = true;
    static constexpr int firstDistance = Base::isCausal && after > 0 ? 0 : -after, lastDistance = before;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;
    static constexpr float softCap = cap, capSlope = 2.0f / cap;

    float compute(float score, int /*batch*/, int /*head*/, int query, int key) const {
      return query - key <= before && query - key >= -after ? cap * std::tanh(2 * score / cap) : -infinity();
    }
  };
};

/// The same with a score function that hides keys of other documents. `getId` returns the document of a position.
template <class Base, int (*getId)(int batch, int position)>
struct SegmentProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = true, returnsDerivative = false;
    static constexpr bool interiorIsScore = true, interiorIsGeneral = false;
    static constexpr int firstDistance = Base::isCausal ? 0 : 1 - Base::keys, lastDistance = Base::queries - 1;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;

    float compute(float dot, int batch, int /*head*/, int query, int key) const {
      return getId(batch, query) == getId(batch, key) ? dot : -infinity();
    }
    TileInspection inspect(const PairTile &tile) const {
      const Interval ofQueries = tile.overQueries([&](int query) { return getId(tile.batch, query); });
      const Interval ofKeys = tile.overKeys([&](int key) { return getId(tile.batch, key); });
      const Outcomes same = areEqual(ofQueries, ofKeys);
      return {same.canHold, !same.canFail};
    }
  };
};

/// The same with a score function that hides keys from a length per batch on, and adds a bias by head and distance.
template <class Base, int (*getLength)(int batch)>
struct LengthProblem : Base {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, returnsDerivative = false;
    static constexpr bool interiorIsScore = false, interiorIsGeneral = false;
    static constexpr int firstDistance = Base::isCausal ? 0 : 1 - Base::keys, lastDistance = Base::queries - 1;
    static constexpr int firstInterior = firstDistance, lastInterior = lastDistance;

    float compute(float score, int batch, int head, int query, int key) const {
      return key < getLength(batch) ? computeInterior(score, batch, head, query, key) : -infinity();
    }
    float computeInterior(float score, int /*batch*/, int head, int query, int key) const {
      return score + 0.01f * static_cast<float>((head + 1) * (key - query));
    }
    TileInspection inspect(const PairTile &tile) const {
      const Outcomes holds = tile.testKeys([&](int key) { return key < getLength(tile.batch); });
      return {holds.canHold, !holds.canFail};
    }
  };
};

/// The same where kernels add the bias in steps.
template <class Base, int (*getLength)(int batch)>
struct LengthSlopeProblem : Base {
  struct Score : LengthProblem<Base, getLength>::Score {
    static constexpr bool biasHasSteps = true, biasIsOfDistance = true;
    BiasSteps getBiasSteps(int /*batch*/, int head) const {
      const float slope = 0.01f * static_cast<float>(head + 1);
      return {-slope, slope};
    }
  };
};

/// The same with a soft cap of the scores of pairs in one document.
template <class Base, int (*getId)(int batch, int position)>
struct SegmentCapProblem : Base {
  struct Score : SegmentProblem<Base, getId>::Score {
    static constexpr bool onlyHides = false, returnsDerivative = true, interiorIsScore = false;

    float compute(float score, int batch, int head, int query, int key, float &derivative) const {
      if (getId(batch, query) == getId(batch, key))
        return computeInterior(score, batch, head, query, key, derivative);
      derivative = 0;
      return -infinity();
    }
    float computeInterior(float score, int /*batch*/, int /*head*/, int /*query*/, int /*key*/,
                          float &derivative) const {
      const float tangent = std::tanh(score / 2);
      derivative = 1 - tangent * tangent;
      return 2 * tangent;
    }
  };
};

/// Returns whether a query of a batch sees a key.
template <class Problem>
bool isVisibleIn(int batch, int query, int key) {
  if (key >= Problem::keys || (Problem::isCausal && key > query))
    return false;
  [[maybe_unused]] float derivative;
  if constexpr (ScoreOf<Problem>::returnsDerivative)
    return typename Problem::Score().compute(0, batch, /*head=*/0, query, key, derivative) != -infinity();
  else if constexpr (ScoreOf<Problem>::exists)
    return typename Problem::Score().compute(0, batch, /*head=*/0, query, key) != -infinity();
  else
    return true;
}
/// The same for the first batch.
template <class Problem>
bool isVisible(int query, int key) {
  return isVisibleIn<Problem>(0, query, key);
}
/// Returns the score of a pair that is visible, from its scaled q · k, and the derivative.
template <class Problem>
std::pair<double, double> getScore(double scaled, int batch, int head, int query, int key) {
  const auto dot = static_cast<float>(scaled);
  if constexpr (ScoreOf<Problem>::returnsDerivative) {
    float derivative = NAN;
    const float score = typename Problem::Score().compute(dot, batch, head, query, key, derivative);
    return {score, derivative};
  } else if constexpr (ScoreOf<Problem>::exists) {
    return {typename Problem::Score().compute(dot, batch, head, query, key), 1};
  } else {
    return {scaled, 1};
  }
}

#endif // CS336_TEST_RUNTIME_WARPGROUPTEXT_H
