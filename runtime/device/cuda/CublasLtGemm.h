//===- CublasLtGemm.h - GEMMs by cuBLASLt -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUBLASLTGEMM_H
#define CS336_RUNTIME_DEVICE_CUDA_CUBLASLTGEMM_H

#include "cs336/runtime/CacheFolder.h"
#include "cs336/runtime/Device.h"
#include "device/GemmProblem.h"
#include "device/cuda/CublasLtApi.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/GemmTuning.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <string>

namespace cs336::runtime {

/// cuBLASLt on one device: its handle, and the algorithms that were the
/// fastest there.
class CublasLt {
public:
  /// NOT_FOUND or FAILED_PRECONDITION if there is no usable library. The
  /// context outlives it. Algorithms are remembered in `tuning_folder`.
  static absl::StatusOr<std::unique_ptr<CublasLt>> Create(const CudaContext &context,
                                                          const std::string &tuning_folder = CacheFolder());
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  const CublasLtApi &api() const { return *api_; }
  const CudaContext &context() const { return context_; }
  cublaslt::Handle handle() const { return handle_; }
  GemmTuning &tuning() { return tuning_; }

private:
  CublasLt(const CudaContext &context, std::shared_ptr<const CublasLtApi> api, cublaslt::Handle handle,
           const std::string &tuning_folder)
      : context_(context), api_(std::move(api)), handle_(handle),
        tuning_(tuning_folder, context.name(), api_->version()) {}

  const CudaContext &context_;
  std::shared_ptr<const CublasLtApi> api_;
  cublaslt::Handle handle_;
  GemmTuning tuning_;
};

/// A GEMM that is enqueued in the context's stream when it executes, and that
/// a graph may capture. f32 (ieee or tf32), f64, and bf16 or f16 accumulated in
/// f32, to C's own type; UNIMPLEMENTED: anything that the library has no
/// algorithm for; ReLU that it has not (in f64), or that makes 0 of a NaN in all
/// of its algorithms, is a kernel of its own after the product. Nothing is
/// copied, whichever operands are transposed. Bits are the same at each
/// execution, for each equal problem on the device (DescribeForTuning), and in
/// each process that finds the same algorithm remembered.
///
/// The first time that a problem is met its candidates are timed here, on
/// random numbers at the operands' own addresses: all of them are written
/// (whatever they held before), so this comes before anything else is stored
/// there, and no capture is under way.
/// `workspace` is `workspace_bytes` of scratch that nothing else uses while the
/// command runs. `library` outlives the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCublasLtGemm(CublasLt &library, const GemmProblem &problem,
                                                                     void *workspace, int64_t workspace_bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUBLASLTGEMM_H
