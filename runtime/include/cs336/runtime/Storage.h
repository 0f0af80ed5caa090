//===- Storage.h - Aligned host memory --------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_STORAGE_H
#define CS336_RUNTIME_STORAGE_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <new>

namespace cs336::runtime {

/// Owns a block of host memory.
class Storage {
public:
  /// An alignment that suits every vector instruction and cache line.
  static constexpr int64_t kAlignment = 64;

  Storage() = default;

  /// Allocates zeroed memory. `alignment` is a power of two. Returns
  /// RESOURCE_EXHAUSTED if the host does not have that much.
  static absl::StatusOr<Storage> Allocate(int64_t bytes, int64_t alignment = kAlignment);

  /// Like Allocate(), but reserves whole pages, each of which the system provides at its first access. It suits memory
  /// that is not needed at once, and that all threads write before they read it.
  static absl::StatusOr<Storage> Reserve(int64_t bytes);

  void *data() const { return data_.get(); }
  int64_t size() const { return size_; }

private:
  struct Release {
    std::align_val_t alignment;
    int64_t mapped_bytes; // Bytes that Reserve() mapped, or zero.
    void operator()(void *memory) const;
  };
  std::unique_ptr<void, Release> data_;
  int64_t size_ = 0;
};

/// Returns the bytes that this process could still allocate and touch: the
/// minimum of the host's available memory and the unused memory of its control
/// group and of each group around it. Returns INT64_MAX if the system reports none
/// of these.
int64_t AvailableHostMemory();

/// Returns a sum of sizes that saturates at INT64_MAX.
inline int64_t AddBytes(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

/// Returns text such as "1.50 GiB (1610612736 bytes)".
std::string FormatBytes(int64_t bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_STORAGE_H
