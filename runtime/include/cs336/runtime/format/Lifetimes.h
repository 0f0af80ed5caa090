//===- Lifetimes.h - When memory of the arena is live -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_LIFETIMES_H
#define CS336_RUNTIME_FORMAT_LIFETIMES_H

#include "cs336/runtime/format/Executable_generated.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cs336::format {

/// The uses of an allocation by the commands of its entry.
struct Lifetime {
  bool is_used = false;
  /// Positions of the first and the last command that use it. It is live during
  /// both. The last command of the entry if it outlives the commands.
  size_t first = 0, last = 0;
  bool is_workspace = false;      // Scratch memory of a command.
  bool is_exchanged = false;      // A collective reads or writes it.
  bool outlives_commands = false; // It holds an output.
};

/// Returns the lifetime of each allocation of an entry, in their order. Indices
/// of buffers and allocations must be valid.
std::vector<Lifetime> Lifetimes(const EntryT &entry);

/// Returns the indices of the allocations that commands use: the largest first, and those of one size in order of their
/// first use. `lifetimes` are those of the entry.
std::vector<size_t> RankAllocations(const EntryT &entry, const std::vector<Lifetime> &lifetimes);

/// Returns the bytes of the allocations that are live during each command.
std::vector<int64_t> LiveBytes(const EntryT &entry);

} // namespace cs336::format

#endif // CS336_RUNTIME_FORMAT_LIFETIMES_H
