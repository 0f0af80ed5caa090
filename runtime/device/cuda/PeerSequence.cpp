//===- PeerSequence.cpp - Collectives that follow each other --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerSequence.h"

#include "format/CollectiveParts.h"

#include "absl/algorithm/container.h"

#include <cstdint>

namespace cs336::runtime {

namespace {

/// Bytes of this rank's memory.
struct TransferRange {
  TransferRange(const void *begin, int64_t bytes)
      : begin(reinterpret_cast<uintptr_t>(begin)), end(this->begin + static_cast<uintptr_t>(bytes)) {}
  bool Overlaps(const TransferRange &other) const { return begin < other.end && other.begin < end; }

  uintptr_t begin, end;
};

TransferRange Source(const Transfer &transfer) { return {transfer.src, transfer.src_count * ByteSize(transfer.dtype)}; }
TransferRange Target(const Transfer &transfer) { return {transfer.dst, transfer.dst_count * ByteSize(transfer.dtype)}; }

/// Returns true if the order of two gathers matters.
bool Conflict(const Transfer &first, const Transfer &second) {
  return Target(first).Overlaps(Target(second)) || Target(first).Overlaps(Source(second)) ||
         Source(first).Overlaps(Target(second));
}

} // namespace

PeerStart PeerSequence::Add(const format::CommandT *previous, const format::CommandT &command,
                            format::CollectiveKind kind, const std::vector<Transfer> &transfers) {
  bool follows = previous && previous == latest_, gathers = WritesParts(kind);
  bool continues = follows && gathers && !chain_.empty() && absl::c_none_of(transfers, [&](const Transfer &each) {
                     return absl::c_any_of(chain_, [&](const Transfer &earlier) { return Conflict(earlier, each); });
                   });
  latest_ = &command;
  if (!continues)
    chain_.clear();
  if (gathers)
    chain_.insert(chain_.end(), transfers.begin(), transfers.end());
  return continues ? PeerStart::kPreviousCopies : follows ? PeerStart::kPreviousEnd : PeerStart::kBarrier;
}

} // namespace cs336::runtime
