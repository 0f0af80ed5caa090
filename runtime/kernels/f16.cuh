//===- f16.cuh - float16 in registers of float ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cuda_fp16.h>

/// Returns the nearest float16 number, ties to even; infinity beyond its range.
__device__ inline float roundToF16(float x) { return __half2float(__float2half_rn(x)); }
__device__ inline float roundToF16(double x) { return __half2float(__double2half(x)); }
