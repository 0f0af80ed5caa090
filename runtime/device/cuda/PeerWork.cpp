//===- PeerWork.cpp - The work of collectives over peers' memory ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerWork.h"

#include "device/cuda/CudaMemory.h"
#include "device/cuda/PeerKernels.h"
#include "status/StatusMacros.h"

#include <algorithm>
#include <utility>

namespace cs336::runtime {

void PeerSums::Add(int64_t bytes, const std::vector<CUdeviceptr> &addresses) {
  records_.push_back(static_cast<uint64_t>(bytes));
  records_.insert(records_.end(), addresses.begin(), addresses.end());
  ++count_;
  chunks_ += (VectorsOf(bytes) + kReduceThreads - 1) / kReduceThreads;
}

absl::Status PeerSums::Prepare(PeerGroup &peers, DType dtype, Reduction reduction, unsigned most_blocks) {
  auto bytes = static_cast<int64_t>(records_.size() * sizeof(uint64_t));
  CS336_ASSIGN_OR_RETURN(table_, peers.memory().Allocate(bytes, /*alignment=*/256));
  CS336_RETURN_IF_ERROR(peers.memory().CopyFromHost(table_.data(), records_.data(), bytes));
  CS336_ASSIGN_OR_RETURN(kernel_, peers.FindReduction(dtype, reduction));
  blocks_ = static_cast<unsigned>(std::clamp<int64_t>(chunks_, 1, most_blocks));
  return absl::OkStatus();
}

absl::Status PeerSums::Enqueue(const PeerGroup &peers) const {
  if (count_ == 0)
    return absl::OkStatus();
  return kernel_->Launch(blocks_, kReduceThreads,
                         {ToDevicePointer(table_.data()), count_, static_cast<uint64_t>(peers.size()),
                          static_cast<uint64_t>(targets_), peers.abandoned()});
}

namespace {

/// A reduction by one kernel.
class DirectReduction : public PeerWork {
public:
  DirectReduction(const PeerGroup &peers, PeerSums sums) : peers_(peers), sums_(std::move(sums)) {}

  absl::Status Enqueue(Barrier arrive, Barrier /*synchronise*/) override {
    CS336_RETURN_IF_ERROR(arrive());
    return sums_.Enqueue(peers_);
  }

private:
  const PeerGroup &peers_;
  PeerSums sums_;
};

/// The fastest for a reduction of at most 8 MiB.
constexpr unsigned kDirectBlocks = 32;

} // namespace

absl::StatusOr<std::unique_ptr<PeerWork>>
ReduceFromPeers(PeerGroup &peers, const std::vector<SharedTransfer> &transfers, PeerReduction reduction) {
  PeerSums sums(reduction.is_for_all ? peers.size() : 1);
  for (const SharedTransfer &each : transfers) {
    int64_t first = each.first(peers.rank());
    std::vector<CUdeviceptr> addresses;
    for (CUdeviceptr source : each.sources)
      addresses.push_back(source + first);
    if (reduction.is_for_all)
      for (CUdeviceptr target : each.targets)
        addresses.push_back(target + first);
    else
      addresses.push_back(ToDevicePointer(each.own.dst));
    sums.Add(each.first(peers.rank() + 1) - first, addresses);
  }
  CS336_RETURN_IF_ERROR(sums.Prepare(peers, transfers.front().own.dtype, reduction.reduction, kDirectBlocks));
  return std::make_unique<DirectReduction>(peers, std::move(sums));
}

} // namespace cs336::runtime
