//===- PeerCopies.h - Copies between GPUs by copy engines -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PEERCOPIES_H
#define CS336_RUNTIME_DEVICE_CUDA_PEERCOPIES_H

#include "device/cuda/PeerGroup.h"
#include "device/cuda/StreamFork.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <vector>

namespace cs336::runtime {

/// Copies between GPUs of fewer bytes in total are one after the other: each of them takes little more than its launch.
constexpr int64_t kLeastLaneBytes = int64_t{1} << 20;
/// Larger ones are divided at multiples of this number of bytes, so that no part is much shorter.
constexpr int64_t kCutBytes = int64_t{64} << 10;

/// A copy in memory that this rank's GPU accesses.
struct PeerCopy {
  CUdeviceptr dst, src;
  int64_t bytes;
};

/// Copies of one rank, in any order. Copy engines do them, which need no multiprocessor.
///
/// One stream occupies one copy engine at a time. The copies are therefore divided among lanes, each of which is a
/// stream: one or two lanes of about the same number of bytes for the copies to other ranks, and another one for copies
/// to this rank, which do not wait for the link between the GPUs.
class PeerCopies {
public:
  /// Adds a copy of `bytes` bytes to a rank's memory. Ignores a copy of no bytes.
  void Add(const PeerGroup &peers, int target, PeerCopy copy);
  /// Divides the copies among lanes, once, after all of them are added. Returns the driver's error if the streams
  /// cannot be created.
  absl::Status Prepare(PeerGroup &peers);
  /// Enqueues the copies after the work of the context's current stream. That stream goes on after all of them.
  absl::Status Enqueue(const PeerGroup &peers) const;

private:
  std::vector<PeerCopy> remote_, local_;
  /// The first lane is the current stream, the others are the fork's.
  std::vector<std::vector<PeerCopy>> lanes_;
  StreamFork *fork_ = nullptr;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERCOPIES_H
