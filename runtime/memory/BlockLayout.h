//===- BlockLayout.h - Several values in one block --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_MEMORY_BLOCKLAYOUT_H
#define CS336_RUNTIME_MEMORY_BLOCKLAYOUT_H

#include "cs336/runtime/Storage.h"

#include <cstdint>

namespace cs336::runtime {

/// Places values one after the other.
class BlockLayout {
public:
  /// The alignment of every offset: suits vector accesses, GEMM libraries and
  /// TMA.
  static constexpr int64_t kAlignment = 256;

  /// Returns the offset of the next value.
  int64_t Add(int64_t bytes) {
    int64_t offset = bytes_;
    int64_t padding = (kAlignment - bytes % kAlignment) % kAlignment;
    bytes_ = AddBytes(bytes_, AddBytes(bytes, padding));
    return offset;
  }

  /// Returns the size of the whole block, or INT64_MAX if that does not fit.
  int64_t bytes() const { return bytes_; }

private:
  int64_t bytes_ = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_MEMORY_BLOCKLAYOUT_H
