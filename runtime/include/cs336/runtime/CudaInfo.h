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

/// What kinds of machine code a device runs.
struct ComputeCapability {
  int major = 0;
  int minor = 0;

  friend bool operator==(const ComputeCapability &, const ComputeCapability &) = default;
};

/// "9.0".
std::string ToString(ComputeCapability capability);

struct CudaDeviceInfo {
  int ordinal = 0; // Of "cuda:0".
  std::string name;
  ComputeCapability compute_capability;
};

struct CudaInfo {
  int driver_version = 0; // The newest CUDA that it supports: 13000 is 13.0.
  std::vector<CudaDeviceInfo> devices;
};

/// Asks the driver, if there is one, and leaves the devices alone. NOT_FOUND:
/// there is no driver, or it sees no device. FAILED_PRECONDITION: it is older
/// than CUDA 13.0, or does not start.
absl::StatusOr<CudaInfo> QueryCuda();

/// What to compile kernels for, to run on that device: "sm_90a". Fails as
/// QueryCuda does, or if there is no such device.
absl::StatusOr<std::string> QueryCudaTarget(int ordinal);

struct CudaMemoryInfo {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
};

/// Of a device, which has to start for that. Fails as QueryCudaTarget does, or
/// with what the driver says of a device that does not start.
absl::StatusOr<CudaMemoryInfo> QueryCudaMemory(int ordinal);

/// A library of CUDA that the runtime loads when it needs it.
struct CudaLibraryInfo {
  std::string name;    // "libcublasLt.so.13"
  std::string purpose; // What does not work without it.
  absl::Status status; // NOT_FOUND: where was looked, and what to install.
  std::string path;
  int64_t version = 0; // As the library counts.
};

/// Looks for every one of them.
std::vector<CudaLibraryInfo> QueryCudaLibraries();

} // namespace cs336::runtime

#endif // CS336_RUNTIME_CUDAINFO_H
