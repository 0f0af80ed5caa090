//===- RandomMatrix.h - Random operands for timing GEMMs --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_RANDOMMATRIX_H
#define CS336_RUNTIME_DEVICE_CUDA_RANDOMMATRIX_H

#include "device/cuda/CudaContext.h"
#include "device/cuda/MatmulLayouts.h"

#include "absl/status/status.h"

#include <cstdint>

namespace cs336::runtime {

/// Fills `batch` matrices from `address` on, including the bytes between them,
/// with normally distributed numbers, enqueued in the context's stream. A GPU
/// multiplies zeros faster than a model's values, by 10 % and more, because it
/// draws less power. An algorithm chosen on zeros may therefore not be the
/// fastest.
absl::Status FillWithRandom(const CudaContext &context, const MatmulOperand &matrix, int64_t batch, char *address);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_RANDOMMATRIX_H
