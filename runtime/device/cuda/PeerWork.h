//===- PeerWork.h - The work of collectives over peers' memory --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PEERWORK_H
#define CS336_RUNTIME_DEVICE_CUDA_PEERWORK_H

#include "cs336/runtime/DType.h"
#include "device/CollectiveCommand.h"
#include "device/cuda/PeerGroup.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <algorithm>
#include <cstdint>
#include <cuda.h>
#include <memory>
#include <vector>

namespace cs336::runtime {

/// The unit of reductions. The last vector of an operand may have fewer bytes.
constexpr int64_t kVectorBytes = 16;
/// Returns the number of vectors that contain these bytes.
constexpr int64_t VectorsOf(int64_t bytes) { return (bytes + kVectorBytes - 1) / kVectorBytes; }

/// An operand of a collective, with its addresses on all ranks, by rank.
struct SharedTransfer {
  Transfer own;
  std::vector<CUdeviceptr> sources, targets;

  int64_t src_bytes() const { return own.src_count * ByteSize(own.dtype); }
  /// Returns the first byte that a rank reduces, at the beginning of a vector. Its last one is before the next rank's
  /// first; the end of the last rank's is the end of the operand.
  int64_t first(int rank) const {
    int64_t vector = VectorsOf(src_bytes()) * rank / static_cast<int64_t>(sources.size());
    return std::min(vector * kVectorBytes, src_bytes());
  }
};

/// Enqueues a wait for all ranks.
using Barrier = absl::FunctionRef<absl::Status()>;

/// The work of one rank for a collective. All ranks come to the same number of barriers. The caller enqueues one more
/// after the work.
class PeerWork {
public:
  virtual ~PeerWork() = default;
  /// Enqueues the work in the context's current stream. Work that accesses operands of other ranks follows `arrive`:
  /// the operands of all ranks are ready after it. `synchronise` waits until all ranks have done their work so far.
  virtual absl::Status Enqueue(Barrier arrive, Barrier synchronise) = 0;
};

/// A reduction that every rank does for a part of the elements.
struct PeerReduction {
  Reduction reduction;
  bool is_for_all; // All ranks get the result, as of all_reduce; otherwise the rank of the part, as of reduce_scatter.
};

/// Reductions of operands by one kernel.
class PeerSums {
public:
  /// `targets`: number of addresses at which each result is stored.
  explicit PeerSums(int targets) : targets_(targets) {}
  /// Adds an operand. The addresses are those of each rank's values, then those of the results.
  void Add(int64_t bytes, const std::vector<CUdeviceptr> &addresses);
  /// Allocates what the kernel reads. The kernel has a block per chunk of kReduceThreads vectors, at most
  /// `most_blocks`.
  absl::Status Prepare(PeerGroup &peers, DType dtype, Reduction reduction, unsigned most_blocks);
  absl::Status Enqueue(const PeerGroup &peers) const;

private:
  int targets_;
  uint64_t count_ = 0;
  int64_t chunks_ = 0;
  std::vector<uint64_t> records_;
  MemoryBlock table_;
  const PtxKernel *kernel_ = nullptr;
  unsigned blocks_ = 1;
};

/// Copies each operand to all ranks (all_gather), or each part of it to the rank of that number (all_to_all). If
/// `continues`, the copies do not wait for the last barrier of the previous collective, which only copies too.
absl::StatusOr<std::unique_ptr<PeerWork>> CopyToPeers(PeerGroup &peers, const std::vector<SharedTransfer> &transfers,
                                                      format::CollectiveKind kind, bool continues);
/// Reduces by a kernel that reads from all ranks, and writes to them for all_reduce. It has the least latency, but
/// a multiprocessor reads about 10 GB/s over NVLink, so that many are busy.
absl::StatusOr<std::unique_ptr<PeerWork>>
ReduceFromPeers(PeerGroup &peers, const std::vector<SharedTransfer> &transfers, PeerReduction reduction);
/// Reduces what copy engines have written to this rank's staging memory, and lets them copy the result for all_reduce.
/// Copies and sums of different rounds overlap.
absl::StatusOr<std::unique_ptr<PeerWork>> ReduceStaged(PeerGroup &peers, const std::vector<SharedTransfer> &transfers,
                                                       PeerReduction reduction);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERWORK_H
