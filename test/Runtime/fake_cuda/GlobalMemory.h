//===- GlobalMemory.h - Memory that kernels of a test access ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_GLOBALMEMORY_H
#define CS336_TEST_RUNTIME_GLOBALMEMORY_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

namespace cs336::runtime::testing {

/// The allocations that a kernel may access, in memory of the host.
class GlobalMemory {
public:
  /// Adds bytes of the host at an address of the device.
  void Add(uint64_t address, void *host, uint64_t bytes) {
    Range range = {address, bytes, static_cast<char *>(host)};
    ranges_.insert(std::upper_bound(ranges_.begin(), ranges_.end(), range), range);
  }

  /// Returns the host's address of these bytes, or null unless they are in one allocation.
  char *Find(uint64_t address, uint64_t bytes) const {
    Range &recent = recent_[(address >> 16) % recent_.size()];
    if (!recent.Contains(address, bytes)) {
      auto next = std::upper_bound(ranges_.begin(), ranges_.end(), Range{address, 0, nullptr});
      if (next == ranges_.begin() || !std::prev(next)->Contains(address, bytes))
        return nullptr;
      recent = *std::prev(next);
    }
    return recent.host + (address - recent.begin);
  }

private:
  struct Range {
    uint64_t begin = 0, bytes = 0;
    char *host = nullptr;
    bool Contains(uint64_t address, uint64_t count) const {
      uint64_t offset = address - begin;
      return offset <= bytes && count <= bytes - offset && host;
    }
    bool operator<(const Range &other) const { return begin < other.begin; }
  };
  std::vector<Range> ranges_;                 // In order of addresses.
  mutable std::array<Range, 64> recent_ = {}; // Found before, by some bits of the address.
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_GLOBALMEMORY_H
