//===- PeerCopies.cpp - Copies between GPUs by copy engines ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerCopies.h"

#include "status/StatusMacros.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cs336::runtime {

namespace {

int64_t TotalBytes(const std::vector<PeerCopy> &copies) {
  return std::accumulate(copies.begin(), copies.end(), int64_t{0},
                         [](int64_t bytes, const PeerCopy &each) { return bytes + each.bytes; });
}

/// Divides copies, in their order, into two lists. The first one has half of the bytes, rounded to a cut.
std::pair<std::vector<PeerCopy>, std::vector<PeerCopy>> Halve(const std::vector<PeerCopy> &copies) {
  std::pair<std::vector<PeerCopy>, std::vector<PeerCopy>> halves;
  int64_t left = TotalBytes(copies) / 2;
  for (const PeerCopy &each : copies) {
    int64_t cut = std::min(each.bytes, (left + kCutBytes / 2) / kCutBytes * kCutBytes);
    if (cut != 0)
      halves.first.push_back({each.dst, each.src, cut});
    if (cut != each.bytes)
      halves.second.push_back({each.dst + cut, each.src + cut, each.bytes - cut});
    left = std::max<int64_t>(left - cut, 0);
  }
  return halves;
}

} // namespace

void PeerCopies::Add(const PeerGroup &peers, int target, PeerCopy copy) {
  if (copy.bytes != 0)
    (target == peers.rank() ? local_ : remote_).push_back(copy);
}

absl::Status PeerCopies::Prepare(PeerGroup &peers) {
  if (TotalBytes(remote_) < kLeastLaneBytes) {
    lanes_ = {remote_, local_};
  } else {
    auto [first, second] = Halve(remote_);
    lanes_ = {std::move(first), std::move(second), local_};
  }
  lanes_.erase(std::remove_if(lanes_.begin(), lanes_.end(), [](const auto &lane) { return lane.empty(); }),
               lanes_.end());
  if (lanes_.size() > 1) {
    CS336_ASSIGN_OR_RETURN(fork_, peers.ForkLanes());
  }
  return absl::OkStatus();
}

absl::Status PeerCopies::Enqueue(const PeerGroup &peers) const {
  const CudaContext &context = peers.context();
  auto enqueue = [&](const std::vector<PeerCopy> &lane, CUstream stream) -> absl::Status {
    for (const PeerCopy &copy : lane)
      CS336_RETURN_IF_ERROR(context.driver().MemcpyAsync(copy.dst, copy.src, static_cast<size_t>(copy.bytes), stream));
    return absl::OkStatus();
  };
  if (!fork_)
    return lanes_.empty() ? absl::OkStatus() : enqueue(lanes_.front(), context.stream());
  return fork_->Run(lanes_.size() - 1, [&]() -> absl::Status {
    CS336_RETURN_IF_ERROR(enqueue(lanes_.front(), context.stream()));
    for (size_t i = 1; i != lanes_.size(); ++i)
      CS336_RETURN_IF_ERROR(enqueue(lanes_[i], fork_->side(i - 1)));
    return absl::OkStatus();
  });
}

} // namespace cs336::runtime
