//===- CudaInfo.h - CUDA devices of this machine ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_CUDAINFO_H
#define CS336_RUNTIME_CUDAINFO_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336::runtime {

/// The version of a device's instruction set.
struct ComputeCapability {
  int major = 0;
  int minor = 0;

  friend bool operator==(const ComputeCapability &, const ComputeCapability &) = default;
};

/// Returns text such as "9.0".
std::string ToString(ComputeCapability capability);

struct CudaDeviceInfo {
  int ordinal = 0; // 0 for "cuda:0".
  std::string name;
  ComputeCapability compute_capability;
};

struct CudaInfo {
  int driver_version = 0; // The newest CUDA version that the driver supports: 13000 is 13.0.
  std::vector<CudaDeviceInfo> devices;
};

/// Queries the driver without starting a device. Errors: NOT_FOUND if there is
/// no driver or the driver finds no device; FAILED_PRECONDITION if the driver is
/// older than CUDA 13.0 or does not start.
absl::StatusOr<CudaInfo> QueryCuda();

/// Returns the architecture to compile kernels for, such as "sm_90a". Returns
/// the errors of QueryCuda, or NOT_FOUND if there is no such device.
absl::StatusOr<std::string> QueryCudaTarget(int ordinal);

struct CudaMemoryInfo {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
};

/// Starts a device and returns its memory. Returns the errors of
/// QueryCudaTarget, or the driver's error if the device does not start.
absl::StatusOr<CudaMemoryInfo> QueryCudaMemory(int ordinal);

/// A library of CUDA that the runtime loads when it needs it.
struct CudaLibraryInfo {
  std::string name;    // "libcublasLt.so.13"
  std::string purpose; // The features that need it.
  absl::Status status; // NOT_FOUND with the places searched and what to install.
  std::string path;
  int64_t version = 0; // In the library's own encoding.
};

/// Looks for all of these libraries.
std::vector<CudaLibraryInfo> QueryCudaLibraries();

} // namespace cs336::runtime

#endif // CS336_RUNTIME_CUDAINFO_H
