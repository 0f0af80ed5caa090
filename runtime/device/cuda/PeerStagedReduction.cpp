//===- PeerStagedReduction.cpp - Reductions of staged parts ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaEvent.h"
#include "device/cuda/CudaMemory.h"
#include "device/cuda/PeerCopies.h"
#include "device/cuda/PeerWork.h"
#include "status/StatusMacros.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

namespace cs336::runtime {

namespace {

/// More multiprocessors than that do not read the GPU's own memory faster.
constexpr unsigned kStagedBlocks = 64;
/// A rank's part of a reduction is divided into this many rounds, unless they would have fewer bytes than that. Only
/// the sums of the last round are not hidden behind copies. Each round has a barrier.
constexpr int64_t kRounds = 4, kLeastRoundBytes = int64_t{8} << 20;

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

/// Returns the bytes of the largest part that a rank reduces, in whole vectors.
int64_t LargestPart(const std::vector<SharedTransfer> &transfers, int ranks) {
  int64_t largest = 0;
  for (int rank = 0; rank != ranks; ++rank) {
    int64_t bytes = 0;
    for (const SharedTransfer &each : transfers)
      bytes += VectorsOf(each.first(rank + 1) - each.first(rank)) * kVectorBytes;
    largest = std::max(largest, bytes);
  }
  return largest;
}

/// The copies to other ranks' staging memory, the sums of what they have copied to this rank's, and the copies of these
/// sums to the other ranks.
struct Round {
  PeerCopies copies, results; // No results of a reduce_scatter.
  PeerSums sums{/*targets=*/1};
  CudaEvent copied, passed, summed;
};

/// A round i has these steps:
///
///     copy stream                                 own stream
///     copies to half i % 2 of staging memory
///                                                 barrier: all ranks have copied
///                                                 sums
///     copies of the sums to other ranks
///
/// The copies of round i + 1 precede the copies of the sums of round i. They follow the barrier of round i, after which
/// no rank reads what the sums of round i - 1 have read, in the same half, any more.
class StagedReduction : public PeerWork {
public:
  explicit StagedReduction(PeerGroup &peers) : peers_(peers) {}

  absl::Status Prepare(const std::vector<SharedTransfer> &transfers, PeerReduction reduction) {
    CS336_ASSIGN_OR_RETURN(staging_, peers_.ShareStaging());
    CS336_ASSIGN_OR_RETURN(streams_, peers_.ForkCopies());
    half_ = PeerGroup::kStagingBytes / (peers_.size() - 1) / 2 / kVectorBytes * kVectorBytes;
    int64_t wanted = VectorsOf(LargestPart(transfers, peers_.size()) / kRounds + 1) * kVectorBytes;
    int64_t capacity = std::min(half_, std::max(wanted, kLeastRoundBytes));
    for (int rank = 0; rank != peers_.size(); ++rank) {
      std::vector<std::vector<Piece>> rounds = SplitIntoRounds(transfers, rank, capacity);
      // Parts differ in length by a few vectors, so ranks may have different numbers of rounds.
      while (rounds_.size() < rounds.size())
        rounds_.emplace_back();
      for (size_t i = 0; i != rounds.size(); ++i)
        rank == peers_.rank() ? AddSums(i, rounds[i], reduction) : AddCopies(i, rounds[i], rank);
    }
    for (Round &round : rounds_) {
      CS336_RETURN_IF_ERROR(
          round.sums.Prepare(peers_, transfers.front().own.dtype, reduction.reduction, kStagedBlocks));
      for (CudaEvent *event : {&round.copied, &round.passed, &round.summed}) {
        CS336_ASSIGN_OR_RETURN(*event, CudaEvent::Create(peers_.context()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(Barrier /*arrive*/, Barrier synchronise) override {
    // The staging memory of all ranks is free: a barrier follows every reduction. Other ranks' operands are written
    // after the barrier that follows the copies.
    return streams_->Run(1, [&]() -> absl::Status {
      CS336_RETURN_IF_ERROR(Copy(rounds_.front()));
      for (size_t i = 0; i != rounds_.size(); ++i) {
        CS336_RETURN_IF_ERROR(Sum(rounds_[i], synchronise));
        if (i + 1 != rounds_.size()) {
          if (i != 0)
            CS336_RETURN_IF_ERROR(rounds_[i].passed.Block(CopyStream()));
          CS336_RETURN_IF_ERROR(Copy(rounds_[i + 1]));
        }
        CS336_RETURN_IF_ERROR(rounds_[i].summed.Block(CopyStream()));
        CS336_RETURN_IF_ERROR(rounds_[i].results.Enqueue(peers_.context(), CopyStream()));
      }
      return absl::OkStatus();
    });
  }

private:
  CUstream CopyStream() const { return streams_->side(0); }

  absl::Status Copy(Round &round) {
    CS336_RETURN_IF_ERROR(round.copies.Enqueue(peers_.context(), CopyStream()));
    return round.copied.Record(CopyStream());
  }

  absl::Status Sum(Round &round, Barrier synchronise) {
    CUstream own = peers_.context().stream();
    CS336_RETURN_IF_ERROR(round.copied.Block(own));
    CS336_RETURN_IF_ERROR(synchronise());
    CS336_RETURN_IF_ERROR(round.passed.Record(own));
    CS336_RETURN_IF_ERROR(round.sums.Enqueue(peers_));
    return round.summed.Record(own);
  }

  /// Returns the part of a rank's staging memory that another one writes to in a round.
  CUdeviceptr StagingOf(int rank, int source, size_t round) const {
    return staging_[rank] + (2 * (source < rank ? source : source - 1) + round % 2) * half_;
  }
  static CUdeviceptr SourceOf(const Piece &piece) { return ToDevicePointer(piece.transfer->own.src) + piece.first; }
  /// Returns a number for an operand's allocation on a rank, so that copies of different operands stay apart.
  static uint64_t AllocationOf(const Piece &piece, int rank) {
    return reinterpret_cast<uintptr_t>(piece.transfer) + static_cast<uint64_t>(rank);
  }

  void AddCopies(size_t round, const std::vector<Piece> &pieces, int target) {
    for (const Piece &piece : pieces)
      rounds_[round].copies.Add({StagingOf(target, peers_.rank(), round) + piece.offset, SourceOf(piece), piece.bytes,
                                 /*dst_allocation=*/static_cast<uint64_t>(target), AllocationOf(piece, peers_.rank())});
  }

  void AddSums(size_t round, const std::vector<Piece> &pieces, PeerReduction reduction) {
    int rank = peers_.rank();
    for (const Piece &piece : pieces) {
      std::vector<CUdeviceptr> addresses;
      for (int source = 0; source != peers_.size(); ++source)
        addresses.push_back(source == rank ? SourceOf(piece) : StagingOf(rank, source, round) + piece.offset);
      int64_t base = reduction.is_for_all ? 0 : piece.transfer->first(rank);
      addresses.push_back(ToDevicePointer(piece.transfer->own.dst) + piece.first - base);
      rounds_[round].sums.Add(piece.bytes, addresses);
    }
    // Each rank begins with another one, so that no GPU receives from all at once.
    for (int step = 1; reduction.is_for_all && step != peers_.size(); ++step)
      for (const Piece &piece : pieces) {
        int target = (rank + step) % peers_.size();
        rounds_[round].results.Add({piece.transfer->targets[target] + piece.first,
                                    ToDevicePointer(piece.transfer->own.dst) + piece.first, piece.bytes,
                                    AllocationOf(piece, target), AllocationOf(piece, rank)});
      }
  }

  PeerGroup &peers_;
  StreamFork *streams_ = nullptr;
  std::vector<CUdeviceptr> staging_; // Staging memory by rank.
  int64_t half_ = 0;                 // Bytes of the half of a rank's staging memory that one source writes in a round.
  std::deque<Round> rounds_;
};

} // namespace

absl::StatusOr<std::unique_ptr<PeerWork>> ReduceStaged(PeerGroup &peers, const std::vector<SharedTransfer> &transfers,
                                                       PeerReduction reduction) {
  auto work = std::make_unique<StagedReduction>(peers);
  CS336_RETURN_IF_ERROR(work->Prepare(transfers, reduction));
  return work;
}

} // namespace cs336::runtime
