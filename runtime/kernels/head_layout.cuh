//===- head_layout.cuh - Where attention's operands lie ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Vectors of heads in global memory: element strides of a batch, a position and a head, and the bytes that addresses
/// and strides are multiples of, at most 16. A vector lies contiguously.
template <long long batchStride, long long positionStride, long long headStride, int alignment>
struct HeadLayout {
  static constexpr int bytes = alignment;
  static constexpr long long stride = positionStride;

  template <class Element>
  __device__ static Element *getVectors(Element *base, int batch, int head, int position) {
    return base + batch * batchStride + head * headStride + position * positionStride;
  }
};
