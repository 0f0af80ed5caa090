//===- PeerCopies.h - Copies between GPUs by copy engines -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PEERCOPIES_H
#define CS336_RUNTIME_DEVICE_CUDA_PEERCOPIES_H

#include "device/cuda/CudaContext.h"

#include "absl/status/status.h"

#include <cstdint>
#include <cuda.h>
#include <vector>

namespace cs336::runtime {

/// A copy in memory that this rank's GPU accesses.
struct PeerCopy {
  CUdeviceptr dst, src;
  int64_t bytes;
};

/// Copies of one rank, one after the other. Copy engines do them, which need no multiprocessor.
///
/// The copies to other ranks are in one stream and are not split: a driver gives all of them to one copy engine, which
/// copies longer pieces at a higher rate.
class PeerCopies {
public:
  /// Adds a copy, unless it has no bytes.
  void Add(PeerCopy copy);
  absl::Status Enqueue(const CudaContext &context, CUstream stream) const;

private:
  std::vector<PeerCopy> copies_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERCOPIES_H
