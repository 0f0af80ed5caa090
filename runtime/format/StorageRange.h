//===- StorageRange.h - The bytes that a buffer names -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_STORAGERANGE_H
#define CS336_RUNTIME_FORMAT_STORAGERANGE_H

#include "cs336/runtime/format/Executable_generated.h"

#include <cstdint>
#include <utility>

namespace cs336::runtime {

/// Bytes [begin, end) of one piece of storage. Buffers of the entry's arena share one piece, and so do the buffers of a
/// variable and of all parts of it.
struct StorageRange {
  std::pair<format::BufferSource, uint32_t> storage;
  int64_t begin = 0, end = 0;
};

/// Returns the bytes from the first to the last element of a verified buffer. Where a rank's part lies among all parts
/// of a variable depends on the rank. All buffers in the storage of all parts therefore have the whole as their range,
/// which contains the ranges of the part.
StorageRange RangeOf(const format::ExecutableT &executable, const format::BufferT &buffer);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FORMAT_STORAGERANGE_H
