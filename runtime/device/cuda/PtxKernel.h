//===- PtxKernel.h - A kernel of the runtime's own --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PTXKERNEL_H
#define CS336_RUNTIME_DEVICE_CUDA_PTXKERNEL_H

#include "device/cuda/CudaContext.h"
#include "device/cuda/CudaModule.h"

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>
#include <string>

namespace cs336::runtime {

/// A kernel in PTX, which every driver compiles: programs may run on machines
/// without a compiler. Its parameters have 64 bits each.
class PtxKernel {
public:
  /// Loads the entry `name` of `source`, whose blocks have `shared_bytes` of dynamic shared memory. The context must
  /// outlive the kernel.
  static absl::StatusOr<std::unique_ptr<PtxKernel>> Load(const CudaContext &context, const std::string &source,
                                                         const char *name, int64_t shared_bytes = 0);

  /// Enqueues a grid of one dimension in the context's stream. A graph may
  /// capture it.
  absl::Status Launch(unsigned blocks, unsigned threads, absl::Span<const uint64_t> parameters) const;

private:
  explicit PtxKernel(const CudaContext &context) : context_(context) {}

  const CudaContext &context_;
  CudaModule module_;
  CUfunction function_ = nullptr;
  unsigned shared_bytes_ = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PTXKERNEL_H
