//===- cuda_on_host.h - Generated kernels as functions of the CPU -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: included before generated CUDA text, it makes the text C++ for the host. Kernels whose threads do not talk
// to each other run one thread after the other.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_PYTHON_CUDA_ON_HOST_H
#define CS336_TEST_PYTHON_CUDA_ON_HOST_H

#include <cmath>
#include <cstring>
#include <utility>

#define __global__
#define __device__
#define __launch_bounds__(threads)

struct Index3 {
  unsigned x, y, z;
};
inline Index3 blockIdx, blockDim, threadIdx;

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }

inline float __int_as_float(int bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Calls the kernel once a thread of the grid, with a buffer a parameter.
template <typename... Parameters>
void runOnHost(void (*kernel)(Parameters...), void *const *buffers, long long blocks, unsigned threads) {
  blockDim = {threads, 1, 1};
  for (long long block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      blockIdx = {static_cast<unsigned>(block), 0, 0};
      threadIdx = {thread, 0, 0};
      [&]<size_t... i>(std::index_sequence<i...>) {
        kernel(static_cast<Parameters>(buffers[i])...);
      }(std::index_sequence_for<Parameters...>());
    }
  }
}

#endif // CS336_TEST_PYTHON_CUDA_ON_HOST_H
