//===- RandomMatrix.h - Numbers to time a product on ------------*- C++ -*-===//
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

/// Fills `batch` matrices from `address` on, and whatever lies between them,
/// with normally distributed numbers, enqueued in the context's stream. A GPU
/// multiplies zeros faster than what a model holds, by a tenth and more, since
/// it draws less power: an algorithm that is chosen on them is not the fastest.
absl::Status FillWithRandom(const CudaContext &context, const MatmulOperand &matrix, int64_t batch, char *address);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_RANDOMMATRIX_H
