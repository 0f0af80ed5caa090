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
#include "format/CollectiveParts.h"
#include "status/StatusMacros.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

/// Larger reductions are staged. Their kernel would occupy multiprocessors for too long.
constexpr int64_t kMostDirectBytes = int64_t{8} << 20;
/// The same between two ranks if no GEMM follows, so that no GEMM waits for these multiprocessors.
constexpr int64_t kMostDirectBytesAlone = int64_t{16} << 20;

bool IsAligned(const void *address) { return ToDevicePointer(address) % kVectorBytes == 0; }

int64_t SourceBytes(const std::vector<Transfer> &transfers) {
  return std::accumulate(transfers.begin(), transfers.end(), int64_t{0}, [](int64_t bytes, const Transfer &each) {
    return bytes + each.src_count * ByteSize(each.dtype);
  });
}

/// Returns the bytes of the largest reduction that one kernel does.
int64_t MostDirectBytes(const CommandContext &context, int ranks) {
  return ranks == 2 && !context.gemms_follow ? kMostDirectBytesAlone : kMostDirectBytes;
}

/// Returns the bytes of the largest reduction that is done here. Among four ranks, staged reductions of 64 and 256 MiB
/// take 1.4 and 1.5 times as long as NCCL's: a rank copies to three others one after the other
/// (benchmarks/results/h200x4-allreduce.md).
int64_t MostReducedBytes(GpuExchange exchange, int ranks) {
  return exchange == GpuExchange::kPeers || ranks == 2 ? std::numeric_limits<int64_t>::max() : kMostDirectBytes;
}

/// Returns true for a gather that NCCL does faster. Copy engines copy to other ranks one after the other, and NCCL
/// sends to all of them at the same time. However, NCCL's kernels occupy multiprocessors. Beside updates this costs
/// less than it saves, and beside GEMMs more. NCCL gathers the own part, too, so others are copied once more.
bool IsGatheredFasterByNccl(const CommandContext &context, const format::CollectiveT &collective, int ranks) {
  return collective.kind == format::CollectiveKind::all_gather && !collective.others && ranks > 2 &&
         !context.gemms_follow;
}

/// Returns true if the collective can be computed by this file. It depends on nothing that differs between ranks.
bool IsSupported(const std::vector<Transfer> &transfers, format::CollectiveKind kind, int64_t most_reduced_bytes) {
  bool gathers = WritesParts(kind);
  if (!gathers && kind != format::CollectiveKind::reduce_scatter && kind != format::CollectiveKind::all_reduce)
    return false;
  if (!gathers && SourceBytes(transfers) > most_reduced_bytes)
    return false;
  return std::all_of(transfers.begin(), transfers.end(), [&](const Transfer &each) {
    bool is_reduced = each.dtype == DType::kF32 || each.dtype == DType::kBF16 || each.dtype == DType::kF16;
    // Every part of reduce_scatter begins with a vector. The parts of all_reduce are whole vectors, except for the end.
    bool has_vectors =
        kind == format::CollectiveKind::all_reduce || each.dst_count * ByteSize(each.dtype) % kVectorBytes == 0;
    return gathers || (is_reduced && each.dtype == transfers.front().dtype && has_vectors && IsAligned(each.src) &&
                       IsAligned(each.dst));
  });
}

/// The work of a collective, and its first and last barrier.
class PeerCollective : public PreparedCommand {
public:
  PeerCollective(NcclGroup &group, const PeerGroup &peers, int64_t barrier, PeerStart start,
                 std::unique_ptr<PeerWork> work)
      : group_(group), peers_(peers), barrier_(barrier), start_(start), work_(std::move(work)) {}

  absl::Status Execute() override {
    CurrentContext current(peers_.context());
    CS336_RETURN_IF_ERROR(current.status());
    auto synchronise = [this] { return peers_.Synchronise(barrier_, /*done=*/0); };
    auto arrive = [&] { return start_ == PeerStart::kBarrier ? synchronise() : absl::OkStatus(); };
    CS336_RETURN_IF_ERROR(work_->Enqueue(arrive, synchronise));
    return peers_.Synchronise(barrier_, group_.done());
  }

private:
  NcclGroup &group_;
  const PeerGroup &peers_;
  int64_t barrier_;
  PeerStart start_;
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
                                                      const CommandContext &context,
                                                      const format::CollectiveT &collective, PeerStart start,
                                                      int64_t bytes) {
  if (WritesParts(collective.kind))
    return CopyToPeers(peers, transfers, collective.kind, start == PeerStart::kPreviousCopies);
  PeerReduction reduction = {static_cast<Reduction>(collective.reduction),
                             collective.kind == format::CollectiveKind::all_reduce};
  return bytes <= MostDirectBytes(context, peers.size()) ? ReduceFromPeers(peers, transfers, reduction)
                                                         : ReduceStaged(peers, transfers, reduction);
}

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PreparePeerCollective(NcclGroup &group, PeerGroup &peers,
                                                                       const CommandContext &context,
                                                                       const format::CollectiveT &collective,
                                                                       GpuExchange exchange) {
  std::vector<Transfer> transfers = BindTransfers(context.buffers, collective);
  if (exchange == GpuExchange::kAuto && IsGatheredFasterByNccl(context, collective, peers.size()))
    return nullptr;
  if (transfers.empty() || !IsSupported(transfers, collective.kind, MostReducedBytes(exchange, peers.size())))
    return nullptr;
  absl::optional<int64_t> barrier = peers.ReserveBarrier();
  if (!barrier)
    return nullptr;
  CS336_ASSIGN_OR_RETURN(std::vector<SharedTransfer> shared, Share(peers, transfers));
  PeerStart start = peers.sequence().Add(context.previous, context.command, collective.kind, transfers);
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<PeerWork> work,
                         PrepareWork(peers, shared, context, collective, start, SourceBytes(transfers)));
  return std::make_unique<PeerCollective>(group, peers, *barrier, start, std::move(work));
}

} // namespace cs336::runtime
