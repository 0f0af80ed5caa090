//===- Parallel.h - Loops over the threads of a team -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_PARALLEL_PARALLEL_H
#define CS336_RUNTIME_PARALLEL_PARALLEL_H

#include "parallel/ThreadTeam.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cs336::runtime {

/// Returns the number of threads that a parallel loop of this thread may use.
inline int MaxThreads() { return TeamScope::Current() ? TeamScope::Current()->size() : 1; }

/// Returns the number of ranges that [0, count), which is not empty, is split
/// into for this thread's team, so that each range has at least `grain`
/// elements.
inline int64_t CountChunks(int64_t count, int64_t grain) {
  int64_t most = (count - 1) / std::max<int64_t>(grain, 1) + 1;
  return std::min<int64_t>(most, MaxThreads());
}

/// Returns the begin of range `chunk` of [0, count), which is the end of the
/// previous one.
inline int64_t ChunkBegin(int64_t count, int64_t chunks, int64_t chunk) {
  return count / chunks * chunk + std::min(chunk, count % chunks);
}

/// Calls `body(begin, end)` for ranges that cover [0, count), on several
/// threads if each gets at least `grain` elements. Allocates nothing itself.
template <typename Body>
void ParallelFor(int64_t count, int64_t grain, const Body &body) {
  if (count <= 0)
    return;
  int64_t chunks = CountChunks(count, grain);
  if (chunks == 1) {
    body(int64_t{0}, count);
    return;
  }
  TeamScope::Current()->Run(static_cast<int>(chunks), [&](int chunk) {
    body(ChunkBegin(count, chunks, chunk), ChunkBegin(count, chunks, chunk + 1));
  });
}

/// The fewest bytes per thread in a parallel copy or fill.
inline constexpr int64_t kParallelBytes = int64_t{1} << 20;

/// Same as memset.
inline void ParallelFill(void *dst, uint8_t byte, int64_t bytes) {
  ParallelFor(bytes, kParallelBytes,
              [=](int64_t begin, int64_t end) { std::memset(static_cast<char *>(dst) + begin, byte, end - begin); });
}

/// Same as memcpy.
inline void ParallelCopy(void *dst, const void *src, int64_t bytes) {
  ParallelFor(bytes, kParallelBytes, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char *>(dst) + begin, static_cast<const char *>(src) + begin, end - begin);
  });
}

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PARALLEL_PARALLEL_H
