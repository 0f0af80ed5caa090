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

/// cuBLASLt on one device: its handle, and the fastest known algorithms.
class CublasLt {
public:
  /// Loads the library. Returns NOT_FOUND or FAILED_PRECONDITION if there is no
  /// usable one. The context must outlive it. The chosen algorithms are stored
  /// in `tuning_folder`.
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

/// Prepares a GEMM that is enqueued in the context's stream when it executes,
/// and that a graph may capture. Supports f32 (ieee or tf32), f64, and bf16 or
/// f16 accumulated in f32, each with C of its own type. Returns UNIMPLEMENTED
/// for problems for which the library has no algorithm. A separate kernel
/// computes ReLU if the library has none (in f64) or if all of its algorithms
/// turn NaN into 0. No operand is copied, also not a transposed one. Bits are
/// the same at each execution, for each equal problem on the device
/// (DescribeForTuning), and in each process that loads the same stored
/// algorithm.
///
/// The first call for a problem times the candidates on random numbers at the
/// operands' own addresses. It overwrites all operands, so it must come before
/// values are stored there, and outside of a capture. `workspace` is scratch
/// memory of `workspace_bytes` that is not used otherwise while the command
/// runs. `library` must outlive the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCublasLtGemm(CublasLt &library, const GemmProblem &problem,
                                                                     void *workspace, int64_t workspace_bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUBLASLTGEMM_H
