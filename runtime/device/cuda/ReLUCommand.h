//===- ReLUCommand.h - ReLU of what a product wrote ----------- -*- C++ -*-===//
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

/// `product`, which leaves `problem`'s C without ReLU, and ReLU of C in place,
/// which keeps a NaN: what is left where no algorithm of a library does. It
/// reads and writes C once more. Both are enqueued in the context's stream, and
/// a graph may capture them; the context outlives the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>>
PrepareReLUAfter(const CudaContext &context, const GemmProblem &problem, std::unique_ptr<PreparedCommand> product);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_RELUCOMMAND_H
