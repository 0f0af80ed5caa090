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

  absl::Status Add(const SharedTransfer &transfer, format::CollectiveKind kind, int target) {
    bool exchanges = kind == format::CollectiveKind::all_to_all;
    const Transfer &own = transfer.own;
    int parts = exchanges ? peers_.size() : 1;
    int64_t bytes = own.row_bytes(parts);
    CUdeviceptr from = ToDevicePointer(own.src) + (exchanges ? own.row_offset(target, 0, parts) : 0);
    CUdeviceptr to = transfer.targets[target] + own.position(peers_.rank(), target) * own.src_rows * bytes;
    bool is_own = target == peers_.rank();
    if (is_own && (own.others || to == from))
      return absl::OkStatus();
    // The allocations of other ranks are as those here: all ranks run the same program. Their starts are multiples of
    // 256, and a host has fewer GPUs, so the sum differs for each allocation of each rank.
    CS336_ASSIGN_OR_RETURN(CUdeviceptr dst_allocation, FindAllocation(transfer.own.dst));
    CS336_ASSIGN_OR_RETURN(CUdeviceptr src_allocation, FindAllocation(transfer.own.src));
    for (int64_t row = 0; row != own.src_rows; ++row, from += parts * bytes, to += bytes)
      (is_own ? local_ : remote_).Add({to, from, bytes, dst_allocation + target, src_allocation});
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

absl::StatusOr<std::unique_ptr<PeerWork>> CopyToPeers(PeerGroup &peers, const std::vector<SharedTransfer> &transfers,
                                                      format::CollectiveKind kind, bool continues) {
  CurrentContext current(peers.context());
  CS336_RETURN_IF_ERROR(current.status());
  CS336_ASSIGN_OR_RETURN(StreamFork * streams, peers.ForkCopies());
  auto gather = std::make_unique<PeerGather>(peers, *streams, continues);
  // Each rank begins with another one, so that no GPU receives from all at once.
  for (int step = 1; step <= peers.size(); ++step)
    for (const SharedTransfer &each : transfers)
      CS336_RETURN_IF_ERROR(gather->Add(each, kind, (peers.rank() + step) % peers.size()));
  return gather;
}

} // namespace cs336::runtime
