//===- cuda_fp16.h - Half precision for kernels on the host -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_PYTHON_CUDA_FP16_H
#define CS336_TEST_PYTHON_CUDA_FP16_H

using __half = _Float16;

inline float __half2float(__half x) { return x; }
inline __half __float2half_rn(float x) { return static_cast<__half>(x); }
inline __half __double2half(double x) { return static_cast<__half>(x); }

#endif // CS336_TEST_PYTHON_CUDA_FP16_H
