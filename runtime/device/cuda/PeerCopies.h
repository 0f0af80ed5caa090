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
#include "absl/types/span.h"

#include <cstdint>
#include <cuda.h>
#include <vector>

namespace cs336::runtime {

/// A copy of rows of equal length in memory that this rank's GPU accesses.
struct PeerCopy {
  CUdeviceptr dst, src;
  int64_t bytes; // The length of a row.
  /// The allocations of both addresses, as any two numbers that differ for different ones. A copy does not leave them.
  uint64_t dst_allocation = 0, src_allocation = 0;
  int64_t rows = 1;
  int64_t dst_pitch = 0, src_pitch = 0; // Bytes between the starts of two rows; unused for one row.
};

/// Copies of one rank, one after the other. Copy engines do them, which need no multiprocessor.
///
/// The copies to other ranks are in one stream and are not split: a driver gives all of them to one copy engine, which
/// copies longer pieces at a higher rate. Copies of equal length at equal distances in the same allocations, as of
/// the same matrix of several layers, become one copy of several rows. It takes less time than a copy per row.
class PeerCopies {
public:
  /// Adds a copy of one row, unless it has no bytes. The rows of a copy are copied in any order, and copies are joined:
  /// no copy may read or write bytes that another one writes.
  void Add(PeerCopy copy);
  absl::Status Enqueue(const CudaContext &context, CUstream stream) const;

  absl::Span<const PeerCopy> copies() const { return copies_; }

private:
  std::vector<PeerCopy> copies_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERCOPIES_H
