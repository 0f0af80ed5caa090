//===- CublasLtApi.h - cuBLASLt's functions ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is loaded when it is first used. Its header comes only with the
// library, of 400 MB, so this header declares the parts in use. They are the
// same since CUDA 11. Names are those of cuBLASLt without their prefix.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H
#define CS336_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <memory>
#include <string>

namespace cs336::runtime {

namespace cublaslt {

using Handle = struct HandleBody *;
using MatmulDesc = struct MatmulDescBody *;
using MatrixLayout = struct MatrixLayoutBody *;
using MatmulPreference = struct MatmulPreferenceBody *;

enum Status : int { kSuccess = 0, kAllocFailed = 3, kArchMismatch = 8, kNotSupported = 15 };
enum DataType : int { kR32F = 0, kR64F = 1, kR16F = 2, kR16BF = 14 };
enum ComputeType : int { kCompute32F = 68, kCompute64F = 70, kCompute32FFastTF32 = 77 };
enum Operation : int32_t { kOpN = 0, kOpT = 1 };

enum MatmulDescAttribute : int { kTransA = 3, kTransB = 4, kEpilogue = 7, kBiasPointer = 8 };
/// The epilogue of alpha * A * B + beta * C before rounding. The bias is a
/// vector of D's type with one element per row of D, added to each column.
enum Epilogue : uint32_t { kEpilogueDefault = 1, kEpilogueReLU = 2, kEpilogueBias = 4, kEpilogueReLUBias = 6 };
enum MatrixLayoutAttribute : int { kBatchCount = 5, kStridedBatchOffset = 6 };
enum MatmulPreferenceAttribute : int {
  kMaxWorkspaceBytes = 1,
  kReductionSchemeMask = 3,
  kMinAlignmentABytes = 5,
  kMinAlignmentBBytes = 6,
  kMinAlignmentCBytes = 7,
  kMinAlignmentDBytes = 8,
};

/// The way in which partial sums of a split K are combined. The allowed ones
/// are "none" and "compute type", which uses the workspace in a fixed order.
/// "In place" means atomics, whose order changes between runs, and "output
/// type" loses precision.
enum ReductionScheme : uint32_t { kReductionNone = 0, kReductionComputeType = 2 };

/// An algorithm. It can be stored and used again with the same version of the
/// library.
struct MatmulAlgo {
  uint64_t data[8];
};

struct MatmulHeuristicResult {
  MatmulAlgo algo;
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

} // namespace cublaslt

/// The functions of libcublasLt.so.13.
class CublasLtApi {
public:
  /// Loads the library. Returns NOT_FOUND if the library does not exist,
  /// FAILED_PRECONDITION if it lacks one of these functions.
  static absl::StatusOr<std::shared_ptr<const CublasLtApi>> Load(const std::string &library = "libcublasLt.so.13");

  /// Returns OK, or an error with the call and the library's reason.
  /// UNIMPLEMENTED: the library has no implementation for this device.
  /// RESOURCE_EXHAUSTED: no memory. FAILED_PRECONDITION: the library does not
  /// support this device.
  absl::Status ToStatus(int status, const char *call) const;

  /// Returns the version: 130100 is 13.1.0.
  int64_t version() const { return static_cast<int64_t>(GetVersion()); }

  const char *(*GetStatusString)(int);
  size_t (*GetVersion)();
  int (*Create)(cublaslt::Handle *);
  int (*Destroy)(cublaslt::Handle);
  int (*MatmulDescCreate)(cublaslt::MatmulDesc *, cublaslt::ComputeType, cublaslt::DataType scale);
  int (*MatmulDescDestroy)(cublaslt::MatmulDesc);
  int (*MatmulDescSetAttribute)(cublaslt::MatmulDesc, cublaslt::MatmulDescAttribute, const void *, size_t);
  int (*MatrixLayoutCreate)(cublaslt::MatrixLayout *, cublaslt::DataType, uint64_t rows, uint64_t columns,
                            int64_t leading_dimension);
  int (*MatrixLayoutDestroy)(cublaslt::MatrixLayout);
  int (*MatrixLayoutSetAttribute)(cublaslt::MatrixLayout, cublaslt::MatrixLayoutAttribute, const void *, size_t);
  int (*MatmulPreferenceCreate)(cublaslt::MatmulPreference *);
  int (*MatmulPreferenceDestroy)(cublaslt::MatmulPreference);
  int (*MatmulPreferenceSetAttribute)(cublaslt::MatmulPreference, cublaslt::MatmulPreferenceAttribute, const void *,
                                      size_t);
  int (*MatmulAlgoGetHeuristic)(cublaslt::Handle, cublaslt::MatmulDesc, cublaslt::MatrixLayout a,
                                cublaslt::MatrixLayout b, cublaslt::MatrixLayout c, cublaslt::MatrixLayout d,
                                cublaslt::MatmulPreference, int wanted, cublaslt::MatmulHeuristicResult *, int *found);
  int (*MatmulAlgoCheck)(cublaslt::Handle, cublaslt::MatmulDesc, cublaslt::MatrixLayout a, cublaslt::MatrixLayout b,
                         cublaslt::MatrixLayout c, cublaslt::MatrixLayout d, const cublaslt::MatmulAlgo *,
                         cublaslt::MatmulHeuristicResult *);
  int (*Matmul)(cublaslt::Handle, cublaslt::MatmulDesc, const void *alpha, const void *a, cublaslt::MatrixLayout,
                const void *b, cublaslt::MatrixLayout, const void *beta, const void *c, cublaslt::MatrixLayout, void *d,
                cublaslt::MatrixLayout, const cublaslt::MatmulAlgo *, void *workspace, size_t workspace_bytes,
                CUstream);

private:
  CublasLtApi() = default;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H
