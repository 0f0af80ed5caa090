//===- PeerGroup.cpp - Ranks whose GPUs access each other's memory --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerGroup.h"

#include "device/cuda/PeerKernels.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <array>

namespace cs336::runtime {

namespace {

/// The driver maps memory of other processes in pages of this size.
constexpr int64_t kSignalBytes = int64_t{2} << 20;
constexpr int64_t kAlignment = 256;

/// Threads of the kernel that waits: one per rank, at most.
constexpr int kMostRanks = 1024;

} // namespace

absl::StatusOr<std::unique_ptr<PeerGroup>> PeerGroup::Connect(const CudaContext &context, Communicator &ranks,
                                                              DeviceMemory &memory, CUdeviceptr abandoned) {
  std::unique_ptr<PeerGroup> group(new PeerGroup(context, ranks, memory, abandoned));
  // Share() tells the others if this rank is not ready.
  absl::Status prepared = group->Prepare();
  const void *signals = prepared.ok() ? group->signals_.data() : nullptr;
  absl::StatusOr<PeerMemory::Addresses> shared = group->peers_.Share({signals});
  if (absl::IsFailedPrecondition(shared.status()) && !prepared.ok())
    return absl::FailedPreconditionError(prepared.message());
  CS336_RETURN_IF_ERROR(shared.status());
  std::vector<CUdeviceptr> addresses;
  for (const std::vector<CUdeviceptr> &rank : *shared)
    addresses.push_back(rank.front());
  auto bytes = static_cast<int64_t>(addresses.size() * sizeof(CUdeviceptr));
  CS336_ASSIGN_OR_RETURN(group->addresses_, memory.Allocate(bytes, kAlignment));
  CS336_RETURN_IF_ERROR(memory.CopyFromHost(group->addresses_.data(), addresses.data(), bytes));
  return group;
}

absl::Status PeerGroup::Prepare() {
  if (context_.compute_capability().major < 8 || size() > kMostRanks)
    return absl::UnimplementedError(
        absl::StrCat("GPUs exchange data through memory from compute capability 8.0 on, and "
                     "among at most ",
                     kMostRanks, " ranks: let NCCL exchange it"));
  CS336_ASSIGN_OR_RETURN(synchronise_, PtxKernel::Load(context_, SynchroniseText(), "synchronise"));
  CS336_ASSIGN_OR_RETURN(signals_, memory_.Allocate(kSignalBytes, kAlignment));
  return memory_.Fill(signals_.data(), 0, kSignalBytes);
}

absl::optional<int64_t> PeerGroup::ReserveBarrier() {
  if (BarrierOffset(reserved_ + 1) > kSignalBytes)
    return absl::nullopt;
  return reserved_++;
}

absl::Status PeerGroup::Synchronise(int64_t barrier, CUdeviceptr done) const {
  auto threads = static_cast<unsigned>((size() + 31) / 32 * 32);
  return synchronise_->Launch(/*blocks=*/1, threads,
                              {reinterpret_cast<CUdeviceptr>(addresses_.data()), static_cast<uint64_t>(rank()),
                               static_cast<uint64_t>(size()), static_cast<uint64_t>(BarrierOffset(barrier)), abandoned_,
                               done});
}

absl::StatusOr<std::vector<CUdeviceptr>> PeerGroup::ShareStaging() {
  if (!staging_addresses_.empty())
    return staging_addresses_;
  absl::StatusOr<MemoryBlock> block = memory_.Allocate(kStagingBytes, kAlignment);
  if (block.ok())
    staging_ = *std::move(block);
  absl::StatusOr<PeerMemory::Addresses> shared = peers_.Share({staging_.data()});
  CS336_RETURN_IF_ERROR(Annotate(block.status(), "memory for the exchange between GPUs"));
  CS336_RETURN_IF_ERROR(shared.status());
  for (const std::vector<CUdeviceptr> &rank : *shared)
    staging_addresses_.push_back(rank.front());
  return staging_addresses_;
}

absl::StatusOr<StreamFork *> PeerGroup::ForkCopies() {
  if (!copies_) {
    std::array<CUstream, 2> streams;
    for (CUstream &stream : streams) {
      CS336_ASSIGN_OR_RETURN(stream, context_.AddStream());
    }
    CS336_ASSIGN_OR_RETURN(copies_, StreamFork::Create(context_, streams));
  }
  return &*copies_;
}

absl::StatusOr<const PtxKernel *> PeerGroup::FindReduction(DType dtype, Reduction reduction) {
  std::unique_ptr<PtxKernel> &kernel = reductions_[{dtype, reduction}];
  if (!kernel) {
    CS336_ASSIGN_OR_RETURN(kernel, PtxKernel::Load(context_, ReduceText(dtype, reduction, size()),
                                                   ReduceName(dtype, reduction).c_str(), ReduceSharedBytes(size())));
  }
  return kernel.get();
}

} // namespace cs336::runtime
