//===- WarpgroupMaps.h - Tensor maps of tests -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_WARPGROUPMAPS_H
#define CS336_TEST_RUNTIME_WARPGROUPMAPS_H

#include "WarpgroupText.h"

#include <cstring>
#include <vector>

/// A contiguous operand [batch, position, head, element] in bf16, with counts of stores and of loaded boxes.
struct HostOperand {
  int batches, positions, heads, headDim;
  std::vector<uint16_t> bits;
  std::vector<unsigned char> stores;
  long long boxes = 0;

  HostOperand(int batches, int positions, int heads, int headDim)
      : batches(batches), positions(positions), heads(heads), headDim(headDim),
        // An operand that is read before it is written contains NaN.
        bits(static_cast<size_t>(batches) * positions * heads * headDim, 0x7fff), stores(bits.size()) {}

  size_t getIndex(int batch, int position, int head, int element) const {
    return ((static_cast<size_t>(batch) * positions + position) * heads + head) * headDim + element;
  }
  float get(int batch, int position, int head, int element) const {
    return __bfloat162float({bits[getIndex(batch, position, head, element)]});
  }
  /// Fills it with numbers of `next`.
  template <typename Next>
  void fill(Next &&next) {
    for (uint16_t &element : bits)
      element = __float2bfloat16_rn(next()).bits;
  }
  const __nv_bfloat16 *getElements() const { return reinterpret_cast<const __nv_bfloat16 *>(bits.data()); }

  /// Returns a map whose boxes have `boxRows` rows.
  TensorMap map(int boxRows) {
    static_assert(sizeof(HostTensorMap) <= sizeof(TensorMap));
    const HostTensorMap host{bits.data(),
                             {headDim, positions, heads, batches},
                             {1, 1ll * heads * headDim, headDim, 1ll * positions * heads * headDim},
                             boxRows,
                             stores.data(),
                             &boxes};
    TensorMap map{};
    std::memcpy(&map, &host, sizeof(host));
    return map;
  }
};

#endif // CS336_TEST_RUNTIME_WARPGROUPMAPS_H
