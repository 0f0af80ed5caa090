//===- BlockLayout.h - Several things in one block of memory ----*- C++ -*-===//
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

/// Puts things one after the other.
class BlockLayout {
public:
  /// Of every offset: what vector accesses, GEMM libraries and TMA want.
  static constexpr int64_t kAlignment = 256;

  /// Where the next thing begins.
  int64_t Add(int64_t bytes) {
    int64_t offset = bytes_;
    int64_t padding = (kAlignment - bytes % kAlignment) % kAlignment;
    bytes_ = AddBytes(bytes_, AddBytes(bytes, padding));
    return offset;
  }

  /// Of the whole; INT64_MAX if that does not fit.
  int64_t bytes() const { return bytes_; }

private:
  int64_t bytes_ = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_MEMORY_BLOCKLAYOUT_H
