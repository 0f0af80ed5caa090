//===- bf16.cuh - bfloat16 in registers of float ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cuda_bf16.h>

/// Returns the nearest bfloat16 number, ties to even.
__device__ inline float roundToBF16(float x) {
  // A pair whose lower number is zero has the bits of the upper number as a float. This is one instruction, and not one
  // that shares a slow unit with the exponential.
  const __nv_bfloat162 pair = __floats2bfloat162_rn(0.0f, x);
  return __int_as_float(reinterpret_cast<const int &>(pair));
}
__device__ inline float roundToBF16(double x) { return __bfloat162float(__double2bfloat16(x)); }
