//===- cuda_on_host.h - Generated kernels as functions of the CPU -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: if it is included before generated CUDA text, the text is C++ for the host. The threads of a block are
// fibers that take turns: one runs until it waits for other threads of its warp or block, or ends.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_PYTHON_CUDA_ON_HOST_H
#define CS336_TEST_PYTHON_CUDA_ON_HOST_H

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
// Blocks run one after the other, so one variable serves all of them.
#define __shared__ static

struct Index3 {
  unsigned x, y, z;
};
inline Index3 gridDim, blockIdx, blockDim, threadIdx;

#include "host_block.h"

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

/// Stores with the default cache policy.
template <typename T>
void __stwb(T *address, T value) {
  std::memcpy(address, &value, sizeof(value));
}

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }

inline float __int_as_float(int bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline unsigned __float_as_uint(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float __uint_as_float(unsigned bits) { return __int_as_float(static_cast<int>(bits)); }

inline void __syncthreads() { HostBlock::current->synchronize(); }
template <typename T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return HostBlock::current->exchange(value, threadIdx.x % 32 ^ distance);
}

template <typename T>
T __shfl_sync(unsigned, T value, unsigned lane) {
  return HostBlock::current->exchange(value, lane % 32);
}
/// The lowest `distance` lanes get their own value.
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned distance) {
  unsigned lane = threadIdx.x % 32;
  return HostBlock::current->exchange(value, lane < distance ? lane : lane - distance);
}

inline void __syncwarp() { HostBlock::current->ballot(true); }
inline unsigned __ballot_sync(unsigned, bool value) { return HostBlock::current->ballot(value); }
inline bool __any_sync(unsigned, bool value) { return HostBlock::current->ballot(value) != 0; }
inline bool __all_sync(unsigned, bool value) { return HostBlock::current->ballot(!value) == 0; }
inline int __ffs(unsigned bits) { return __builtin_ffs(bits); }
inline int __clz(unsigned bits) { return bits == 0 ? 32 : __builtin_clz(bits); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

// Threads take turns, so these are atomic. They return the value before.
inline unsigned atomicAdd(unsigned *address, unsigned value) { return std::exchange(*address, *address + value); }
inline unsigned atomicOr(unsigned *address, unsigned value) { return std::exchange(*address, *address | value); }

#include "device_library_on_host.h"

#include "warpgroups_on_host.h"

/// Calls the function once per thread of the grid, with one parameter per buffer, or with all buffers in one structure.
template <typename... Parameters>
void runOnHost(void (*function)(Parameters...), void *const *buffers, long long blocks, unsigned threads,
               size_t sharedBytes = 0) {
  gridDim = {static_cast<unsigned>(blocks), 1, 1};
  blockDim = {threads, 1, 1};
  HostBlock block(threads);
  for (long long number = 0; number < blocks; ++number) {
    blockIdx = {static_cast<unsigned>(number), 0, 0};
    HostSharedMemory::current = HostSharedMemory(sharedBytes, threads);
    HostBarriers::current = HostBarriers(threads);
    HostMatmuls::current = HostMatmuls(threads);
    block.run([&] {
      if constexpr ((std::is_pointer_v<Parameters> && ...))
        [&]<size_t... i>(std::index_sequence<i...>) {
          function(static_cast<Parameters>(buffers[i])...);
        }(std::index_sequence_for<Parameters...>());
      else
        function(*reinterpret_cast<const Parameters *>(buffers)...);
    });
    HostBarriers::current.finish();
  }
}

#endif // CS336_TEST_PYTHON_CUDA_ON_HOST_H
