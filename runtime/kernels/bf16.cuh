//===- bf16.cuh - bfloat16 in registers of float ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cuda_bf16.h>

/// The nearest number that bfloat16 represents, ties to even.
__device__ inline float roundToBF16(float x) {
  // The bits of a pair are those of a float: the upper number, if the lower is zero. One instruction, and none of those
  // that share a slow unit with the exponential.
  const __nv_bfloat162 pair = __floats2bfloat162_rn(0.0f, x);
  return __int_as_float(reinterpret_cast<const int &>(pair));
}
__device__ inline float roundToBF16(double x) { return __bfloat162float(__double2bfloat16(x)); }
