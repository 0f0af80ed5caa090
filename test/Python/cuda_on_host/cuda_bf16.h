//===- cuda_bf16.h - bfloat16 for kernels on the host -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_PYTHON_CUDA_BF16_H
#define CS336_TEST_PYTHON_CUDA_BF16_H

#include <cmath>
#include <cstdint>
#include <cstring>

/// The upper half of a float.
struct __nv_bfloat16 {
  uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 x) {
  uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  if (std::isnan(x))
    return {0x7fff};
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  // Half of the last place, minus one if the number is even: a tie then stays below the next number.
  bits += 0x7fff + (bits >> 16 & 1);
  return {static_cast<uint16_t>(bits >> 16)};
}

/// Two consecutive numbers, the first in the lower half of the word.
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}

inline __nv_bfloat16 __double2bfloat16(double x) {
  float rounded = static_cast<float>(x);
  // Rounded to odd, a float keeps the information that the second rounding needs.
  if (rounded != x && !std::isnan(x)) {
    uint32_t bits;
    std::memcpy(&bits, &rounded, sizeof(bits));
    if (std::abs(static_cast<double>(rounded)) > std::abs(x))
      --bits;
    bits |= 1;
    std::memcpy(&rounded, &bits, sizeof(rounded));
  }
  return __float2bfloat16_rn(rounded);
}

#endif // CS336_TEST_PYTHON_CUDA_BF16_H
