//===- PeerStagedReduction.cpp - Reductions of staged parts ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaMemory.h"
#include "device/cuda/PeerCopies.h"
#include "device/cuda/PeerWork.h"
#include "status/StatusMacros.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace cs336::runtime {

namespace {

/// More multiprocessors than that do not read the GPU's own memory faster.
constexpr unsigned kStagedBlocks = 64;

/// Consecutive bytes of an operand, which are staged together with others. They begin with a whole vector.
struct Piece {
  const SharedTransfer *transfer;
  int64_t first, bytes;
  int64_t offset; // In the staging memory of each source.
};

/// Splits what a rank reduces into rounds, each of which fits into `capacity` bytes per source, a multiple of vectors.
std::vector<std::vector<Piece>> SplitIntoRounds(const std::vector<SharedTransfer> &transfers, int rank,
                                                int64_t capacity) {
  std::vector<std::vector<Piece>> rounds(1);
  int64_t used = 0;
  for (const SharedTransfer &each : transfers) {
    int64_t end = each.first(rank + 1);
    for (int64_t first = each.first(rank); first != end;) {
      if (used == capacity) {
        rounds.emplace_back();
        used = 0;
      }
      int64_t bytes = std::min(end - first, capacity - used);
      rounds.back().push_back({&each, first, bytes, used});
      first += bytes;
      used += VectorsOf(bytes) * kVectorBytes;
    }
  }
  return rounds;
}

/// The copies to other ranks' staging memory, and the sums of what they have copied to this rank's.
struct Round {
  explicit Round(PeerSums sums) : sums(std::move(sums)) {}
  PeerCopies copies;
  PeerSums sums;
};

class StagedReduction : public PeerWork {
public:
  explicit StagedReduction(PeerGroup &peers) : peers_(peers) {}

  absl::Status Prepare(const std::vector<SharedTransfer> &transfers, PeerReduction reduction) {
    CS336_ASSIGN_OR_RETURN(staging_, peers_.ShareStaging());
    capacity_ = PeerGroup::kStagingBytes / (peers_.size() - 1) / kVectorBytes * kVectorBytes;
    for (int rank = 0; rank != peers_.size(); ++rank) {
      std::vector<std::vector<Piece>> rounds = SplitIntoRounds(transfers, rank, capacity_);
      // Parts differ in length by a few vectors, so ranks may have different numbers of rounds.
      while (rounds_.size() < rounds.size())
        rounds_.emplace_back(PeerSums(/*targets=*/1));
      for (size_t i = 0; i != rounds.size(); ++i)
        for (const Piece &piece : rounds[i])
          if (rank == peers_.rank())
            AddSum(rounds_[i], piece, reduction);
          else
            rounds_[i].copies.Add({StagingOf(rank, peers_.rank()) + piece.offset, SourceOf(piece), piece.bytes});
    }
    for (Round &round : rounds_)
      CS336_RETURN_IF_ERROR(
          round.sums.Prepare(peers_, transfers.front().own.dtype, reduction.reduction, kStagedBlocks));
    if (reduction.is_for_all)
      AddResults(transfers);
    return absl::OkStatus();
  }

  absl::Status Enqueue(Barrier /*arrive*/, Barrier synchronise) const override {
    // The staging memory of all ranks is free: a barrier follows every reduction. Other ranks' operands are written
    // after the barrier that follows the copies.
    for (const Round &round : rounds_) {
      if (&round != &rounds_.front())
        CS336_RETURN_IF_ERROR(synchronise());
      CS336_RETURN_IF_ERROR(Enqueue(round.copies));
      CS336_RETURN_IF_ERROR(synchronise());
      CS336_RETURN_IF_ERROR(round.sums.Enqueue(peers_));
    }
    return Enqueue(results_);
  }

private:
  absl::Status Enqueue(const PeerCopies &copies) const {
    return copies.Enqueue(peers_.context(), peers_.context().stream());
  }

  /// Returns the part of a rank's staging memory that another one writes to.
  CUdeviceptr StagingOf(int rank, int source) const {
    return staging_[rank] + (source < rank ? source : source - 1) * capacity_;
  }
  static CUdeviceptr SourceOf(const Piece &piece) { return ToDevicePointer(piece.transfer->own.src) + piece.first; }

  void AddSum(Round &round, const Piece &piece, PeerReduction reduction) {
    std::vector<CUdeviceptr> addresses;
    for (int source = 0; source != peers_.size(); ++source)
      addresses.push_back(source == peers_.rank() ? SourceOf(piece) : StagingOf(peers_.rank(), source) + piece.offset);
    int64_t base = reduction.is_for_all ? 0 : piece.transfer->first(peers_.rank());
    addresses.push_back(ToDevicePointer(piece.transfer->own.dst) + piece.first - base);
    round.sums.Add(piece.bytes, addresses);
  }

  /// Adds copies of this rank's results to all others, which do not write to these parts.
  void AddResults(const std::vector<SharedTransfer> &transfers) {
    for (int step = 1; step != peers_.size(); ++step)
      for (const SharedTransfer &each : transfers) {
        int64_t first = each.first(peers_.rank()), end = each.first(peers_.rank() + 1);
        int target = (peers_.rank() + step) % peers_.size();
        results_.Add({each.targets[target] + first, ToDevicePointer(each.own.dst) + first, end - first});
      }
  }

  PeerGroup &peers_;
  std::vector<CUdeviceptr> staging_; // Staging memory by rank.
  int64_t capacity_ = 0;             // Bytes of the part of the staging memory that a source writes.
  std::deque<Round> rounds_;
  PeerCopies results_; // Empty for reduce_scatter.
};

} // namespace

absl::StatusOr<std::unique_ptr<PeerWork>> ReduceStaged(PeerGroup &peers, const std::vector<SharedTransfer> &transfers,
                                                       PeerReduction reduction) {
  auto work = std::make_unique<StagedReduction>(peers);
  CS336_RETURN_IF_ERROR(work->Prepare(transfers, reduction));
  return work;
}

} // namespace cs336::runtime
