//===- Parallel.h - Loops over OpenMP's threads -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CPU_PARALLEL_H
#define CS336_RUNTIME_DEVICE_CPU_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace cs336::runtime {

/// Threads that a parallel loop of this thread may use.
inline int MaxThreads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// While it lives, parallel loops of this thread, and oneDNN's, use `threads`
/// threads (0: as before).
class ThreadCountScope {
public:
  explicit ThreadCountScope(int threads) : previous_(MaxThreads()) {
#ifdef _OPENMP
    if (threads > 0)
      omp_set_num_threads(threads);
#endif
  }
  ~ThreadCountScope() {
#ifdef _OPENMP
    omp_set_num_threads(previous_);
#endif
  }
  ThreadCountScope(const ThreadCountScope &) = delete;
  ThreadCountScope &operator=(const ThreadCountScope &) = delete;

private:
  [[maybe_unused]] int previous_;
};

/// Into how many ranges [0, count), which is not empty, is split among this
/// thread's threads, so that each has `grain` or more.
inline int64_t CountChunks(int64_t count, int64_t grain) {
  int64_t most = (count - 1) / std::max<int64_t>(grain, 1) + 1;
  return std::min<int64_t>(most, MaxThreads());
}

/// Where range `chunk` of [0, count) begins, and the one before it ends.
inline int64_t ChunkBegin(int64_t count, int64_t chunks, int64_t chunk) {
  return count / chunks * chunk + std::min(chunk, count % chunks);
}

/// Calls `body(begin, end)` for ranges that cover [0, count), on several
/// threads once each gets at least `grain`. Allocates nothing itself.
template <typename Body>
void ParallelFor(int64_t count, int64_t grain, const Body &body) {
  if (count <= 0)
    return;
  [[maybe_unused]] int64_t chunks = CountChunks(count, grain);
#ifdef _OPENMP
  if (chunks > 1) {
#pragma omp parallel for num_threads(static_cast<int>(chunks)) schedule(static)
    for (int64_t i = 0; i < chunks; ++i)
      body(ChunkBegin(count, chunks, i), ChunkBegin(count, chunks, i + 1));
    return;
  }
#endif
  body(int64_t{0}, count);
}

/// Bytes that a thread of its own copies or fills, at least.
inline constexpr int64_t kParallelBytes = int64_t{1} << 20;

/// As memset.
inline void ParallelFill(void *dst, uint8_t byte, int64_t bytes) {
  ParallelFor(bytes, kParallelBytes,
              [=](int64_t begin, int64_t end) { std::memset(static_cast<char *>(dst) + begin, byte, end - begin); });
}

/// As memcpy.
inline void ParallelCopy(void *dst, const void *src, int64_t bytes) {
  ParallelFor(bytes, kParallelBytes, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char *>(dst) + begin, static_cast<const char *>(src) + begin, end - begin);
  });
}

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_PARALLEL_H
