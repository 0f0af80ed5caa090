//===- head_layout.cuh - Layouts of attention's operands --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The layout of heads in global memory: the strides of batches, positions and heads in elements, and the alignment of
/// addresses and strides in bytes, at most 16. The vector of one position is contiguous.
template <long long batchStride, long long positionStride, long long headStride, int alignment>
struct HeadLayout {
  static constexpr int bytes = alignment;
  static constexpr long long stride = positionStride;

  template <class Element>
  __device__ static Element *getVectors(Element *base, int batch, int head, int position) {
    return base + batch * batchStride + head * headStride + position * positionStride;
  }
};
