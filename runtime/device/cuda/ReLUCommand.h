//===- ReLUCommand.h - ReLU of a GEMM's result ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_RELUCOMMAND_H
#define CS336_RUNTIME_DEVICE_CUDA_RELUCOMMAND_H

#include "cs336/runtime/Device.h"
#include "device/GemmProblem.h"
#include "device/cuda/CudaContext.h"

#include "absl/status/statusor.h"

#include <memory>

namespace cs336::runtime {

/// Runs `gemm`, a GEMM that computes `problem`'s C without ReLU, then ReLU
/// of C in place, which keeps NaN. It is the fallback if no algorithm of a
/// library keeps NaN, and reads and writes C once more. Both are enqueued in
/// the context's stream, and a graph may capture them. The context must outlive
/// the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>>
PrepareReLUAfter(const CudaContext &context, const GemmProblem &problem, std::unique_ptr<PreparedCommand> gemm);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_RELUCOMMAND_H
