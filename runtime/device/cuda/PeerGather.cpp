//===- PeerGather.cpp - Gathers by copy engines ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaMemory.h"
#include "device/cuda/PeerCopies.h"
#include "device/cuda/PeerWork.h"
#include "status/StatusMacros.h"

namespace cs336::runtime {

namespace {

/// The copies are in two streams of the group: those to other ranks, which use the links between GPUs, and those to
/// this rank. The current stream runs only the barriers, so that the copies of a chain of gathers do not wait for them.
class PeerGather : public PeerWork {
public:
  PeerGather(const PeerGroup &peers, StreamFork &streams, bool continues)
      : peers_(peers), streams_(streams), continues_(continues) {}

  absl::Status Add(const SharedTransfer &transfer, int target) {
    CUdeviceptr from = ToDevicePointer(transfer.own.src);
    CUdeviceptr to = transfer.targets[target] + peers_.rank() * transfer.src_bytes();
    bool is_own = target == peers_.rank();
    if (is_own && to == from)
      return absl::OkStatus();
    // The allocations of other ranks are as those here: all ranks run the same program. Their starts are multiples of
    // 256, and a host has fewer GPUs, so the sum differs for each allocation of each rank.
    CS336_ASSIGN_OR_RETURN(CUdeviceptr dst_allocation, FindAllocation(transfer.own.dst));
    CS336_ASSIGN_OR_RETURN(CUdeviceptr src_allocation, FindAllocation(transfer.own.src));
    (is_own ? local_ : remote_).Add({to, from, transfer.src_bytes(), dst_allocation + target, src_allocation});
    return absl::OkStatus();
  }

  absl::Status Enqueue(Barrier arrive, Barrier /*synchronise*/) override {
    CS336_RETURN_IF_ERROR(arrive());
    auto enqueue = [&]() -> absl::Status {
      CS336_RETURN_IF_ERROR(remote_.Enqueue(peers_.context(), streams_.side(0)));
      return local_.Enqueue(peers_.context(), streams_.side(1));
    };
    return continues_ ? streams_.Continue(streams_.size(), enqueue) : streams_.Run(streams_.size(), enqueue);
  }

private:
  /// Returns the start of the allocation that contains the address.
  absl::StatusOr<CUdeviceptr> FindAllocation(const void *address) const {
    CUdeviceptr start = 0;
    size_t bytes = 0;
    CS336_RETURN_IF_ERROR(peers_.context().driver().MemGetAddressRange(&start, &bytes, ToDevicePointer(address)));
    return start;
  }

  const PeerGroup &peers_;
  StreamFork &streams_;
  bool continues_; // The copies follow those of the previous gather.
  PeerCopies remote_, local_;
};

} // namespace

absl::StatusOr<std::unique_ptr<PeerWork>>
GatherFromPeers(PeerGroup &peers, const std::vector<SharedTransfer> &transfers, bool continues) {
  CurrentContext current(peers.context());
  CS336_RETURN_IF_ERROR(current.status());
  CS336_ASSIGN_OR_RETURN(StreamFork * streams, peers.ForkCopies());
  auto gather = std::make_unique<PeerGather>(peers, *streams, continues);
  // Each rank begins with another one, so that no GPU receives from all at once.
  for (int step = 1; step <= peers.size(); ++step)
    for (const SharedTransfer &each : transfers)
      CS336_RETURN_IF_ERROR(gather->Add(each, (peers.rank() + step) % peers.size()));
  return gather;
}

} // namespace cs336::runtime
