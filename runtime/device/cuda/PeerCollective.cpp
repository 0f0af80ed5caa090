//===- PeerCollective.cpp - Collectives over peers' memory ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerCollective.h"

#include "device/CollectiveCommand.h"
#include "device/cuda/CudaMemory.h"
#include "device/cuda/PeerWork.h"
#include "status/StatusMacros.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

/// Larger reductions are staged.
constexpr int64_t kMostDirectBytes = int64_t{8} << 20;
/// NCCL reduces more than this faster than stages do.
constexpr int64_t kMostStagedBytes = int64_t{256} << 20;

bool IsVectors(const void *address, int64_t bytes) {
  return ToDevicePointer(address) % kVectorBytes == 0 && bytes % kVectorBytes == 0;
}

int64_t SourceBytes(const std::vector<Transfer> &transfers) {
  return std::accumulate(transfers.begin(), transfers.end(), int64_t{0}, [](int64_t bytes, const Transfer &each) {
    return bytes + each.src_count * ByteSize(each.dtype);
  });
}

/// Returns true if the collective can be computed by this file. It depends on nothing that differs between ranks.
bool IsSupported(const std::vector<Transfer> &transfers, format::CollectiveKind kind) {
  bool gathers = kind == format::CollectiveKind::all_gather;
  if (!gathers && kind != format::CollectiveKind::reduce_scatter && kind != format::CollectiveKind::all_reduce)
    return false;
  if (!gathers && SourceBytes(transfers) > kMostStagedBytes)
    return false;
  return std::all_of(transfers.begin(), transfers.end(), [&](const Transfer &each) {
    int64_t part = std::min(each.src_count, each.dst_count) * ByteSize(each.dtype);
    bool is_reduced = each.dtype == DType::kF32 || each.dtype == DType::kBF16 || each.dtype == DType::kF16;
    return gathers || (is_reduced && each.dtype == transfers.front().dtype && IsVectors(each.src, part) &&
                       IsVectors(each.dst, part));
  });
}

/// The work of a collective between two barriers. The first one has two purposes: what this rank reads from other ranks
/// has been written there, and what it writes to other ranks is not in use there any more.
///
/// The last barrier of another collective serves both purposes if that collective is the previous command of the
/// stream. Executables are verified (VerifyStreams.cpp): on each rank, events or the order of the stream place every
/// command that uses the operands' bytes before or after this collective. A command that is before it is also before
/// the previous collective's last barrier on the same rank: it is the previous collective, or earlier in this stream,
/// or in another stream. In the last case, this stream waits for an event after it; since no wait is between the two
/// collectives, this wait is before the previous one. All ranks run the same program, so this holds on every rank, and
/// the previous collective's last barrier ends only after all ranks have reached it. A command that is after this
/// collective waits for its last barrier.
///
/// The first collective of an entry's stream has no previous command. Between it and the last collective of the run
/// before, the host may have written inputs and variables of one rank.
class PeerCollective : public PreparedCommand {
public:
  /// `follows`: the previous command of the stream is such a collective.
  PeerCollective(NcclGroup &group, const PeerGroup &peers, int64_t barrier, bool follows,
                 std::unique_ptr<PeerWork> work)
      : group_(group), peers_(peers), barrier_(barrier), follows_(follows), work_(std::move(work)) {}

  absl::Status Execute() override {
    CurrentContext current(peers_.context());
    CS336_RETURN_IF_ERROR(current.status());
    auto synchronise = [this] { return peers_.Synchronise(barrier_, /*done=*/0); };
    auto arrive = [&] { return follows_ ? absl::OkStatus() : synchronise(); };
    CS336_RETURN_IF_ERROR(work_->Enqueue(arrive, synchronise));
    return peers_.Synchronise(barrier_, group_.done());
  }

private:
  NcclGroup &group_;
  const PeerGroup &peers_;
  int64_t barrier_;
  bool follows_;
  std::unique_ptr<PeerWork> work_;
};

absl::StatusOr<std::vector<SharedTransfer>> Share(PeerGroup &peers, const std::vector<Transfer> &transfers) {
  std::vector<const void *> own;
  for (const Transfer &each : transfers)
    own.insert(own.end(), {each.src, each.dst});
  CS336_ASSIGN_OR_RETURN(PeerMemory::Addresses addresses, peers.peers().Share(own));
  std::vector<SharedTransfer> shared;
  for (size_t i = 0; i != transfers.size(); ++i) {
    SharedTransfer each;
    each.own = transfers[i];
    for (const std::vector<CUdeviceptr> &rank : addresses) {
      each.sources.push_back(rank[2 * i]);
      each.targets.push_back(rank[2 * i + 1]);
    }
    shared.push_back(std::move(each));
  }
  return shared;
}

absl::StatusOr<std::unique_ptr<PeerWork>> PrepareWork(PeerGroup &peers, const std::vector<SharedTransfer> &transfers,
                                                      const format::CollectiveT &collective, int64_t bytes) {
  if (collective.kind == format::CollectiveKind::all_gather)
    return GatherFromPeers(peers, transfers);
  PeerReduction reduction = {static_cast<Reduction>(collective.reduction),
                             collective.kind == format::CollectiveKind::all_reduce};
  return bytes > kMostDirectBytes ? ReduceStaged(peers, transfers, reduction)
                                  : ReduceFromPeers(peers, transfers, reduction);
}

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PreparePeerCollective(NcclGroup &group, PeerGroup &peers,
                                                                       const CommandContext &context,
                                                                       const format::CollectiveT &collective) {
  std::vector<Transfer> transfers = BindTransfers(context.buffers, collective);
  if (transfers.empty() || !IsSupported(transfers, collective.kind))
    return nullptr;
  absl::optional<int64_t> barrier = peers.ReserveBarrier();
  if (!barrier)
    return nullptr;
  CS336_ASSIGN_OR_RETURN(std::vector<SharedTransfer> shared, Share(peers, transfers));
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<PeerWork> work,
                         PrepareWork(peers, shared, collective, SourceBytes(transfers)));
  bool follows = peers.IsLatest(context.previous);
  peers.SetLatest(context.command);
  return std::make_unique<PeerCollective>(group, peers, *barrier, follows, std::move(work));
}

} // namespace cs336::runtime
