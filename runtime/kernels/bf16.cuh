//===- bf16.cuh - bfloat16 in registers of float ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cuda_bf16.h>

/// The nearest number that bfloat16 represents, ties to even.
__device__ inline float roundToBF16(float x) { return __bfloat162float(__float2bfloat16_rn(x)); }
__device__ inline float roundToBF16(double x) { return __bfloat162float(__double2bfloat16(x)); }
