//===- NcclCollective.cpp - Collectives between GPUs ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/NcclCollective.h"

#include "cs336/runtime/Communicator.h"
#include "device/CollectiveCommand.h"
#include "device/cuda/CudaMemory.h"
#include "device/cuda/PeerCopies.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

nccl::DataType ToNccl(DType dtype) {
  switch (dtype) {
  case DType::kF64:
    return nccl::kFloat64;
  case DType::kF32:
    return nccl::kFloat32;
  case DType::kBF16:
    return nccl::kBfloat16;
  case DType::kF16:
    return nccl::kFloat16;
  case DType::kI64:
    return nccl::kInt64;
  case DType::kI32:
    return nccl::kInt32;
  case DType::kI1:
    break;
  }
  return nccl::kUint8;
}

nccl::RedOp ToNccl(Reduction reduction) {
  switch (reduction) {
  case Reduction::kSum:
    return nccl::kSum;
  case Reduction::kMean:
    return nccl::kAvg;
  case Reduction::kMax:
    return nccl::kMax;
  case Reduction::kMin:
    break;
  }
  return nccl::kMin;
}

bool Reduces(format::CollectiveKind kind) {
  return kind == format::CollectiveKind::all_reduce || kind == format::CollectiveKind::reduce_scatter;
}

class NcclCollective : public PreparedCommand {
public:
  NcclCollective(const CudaContext &context, NcclGroup &group, std::vector<Transfer> transfers,
                 const format::CollectiveT &collective)
      : context_(context), group_(group), transfers_(std::move(transfers)), kind_(collective.kind),
        reduction_(ToNccl(static_cast<Reduction>(collective.reduction))), root_(static_cast<int>(collective.root)) {}

  /// Allocates memory for what NCCL does not do: to read parts of several rows, and to leave out this rank's part.
  absl::Status Prepare(DeviceMemory &memory) {
    for (Transfer &each : transfers_) {
      if (each.others)
        CS336_RETURN_IF_ERROR(PrepareOthers(each, memory));
      if (each.src_rows == 1)
        continue;
      int parts = group_.size();
      CS336_ASSIGN_OR_RETURN(MemoryBlock block,
                             memory.Allocate(each.src_count * ByteSize(each.dtype), /*alignment=*/256));
      CUdeviceptr to = ToDevicePointer(block.data()), from = ToDevicePointer(each.src);
      int64_t bytes = each.row_bytes(parts);
      for (int part = 0; part != parts; ++part)
        for (int64_t row = 0; row != each.src_rows; ++row, to += bytes)
          packing_.Add({to, from + each.row_offset(part, row, parts), bytes, /*dst_allocation=*/further_.size(),
                        /*src_allocation=*/further_.size()});
      each.src = block.data();
      further_.push_back(std::move(block));
    }
    return absl::OkStatus();
  }

  absl::Status Execute() override {
    CurrentContext current(context_);
    CS336_RETURN_IF_ERROR(current.status());
    CS336_RETURN_IF_ERROR(packing_.Enqueue(context_, context_.stream()));
    CS336_RETURN_IF_ERROR(group_.Enqueue(format::EnumNameCollectiveKind(kind_), [this](nccl::Comm comm) {
      for (const Transfer &each : transfers_)
        if (int result = Call(each, comm); result != nccl::kSuccess && result != nccl::kInProgress)
          return result;
      return static_cast<int>(nccl::kSuccess);
    }));
    CS336_RETURN_IF_ERROR(unpacking_.Enqueue(context_, context_.stream()));
    return group_.Advance();
  }

private:
  absl::Status PrepareOthers(Transfer &each, DeviceMemory &memory) {
    int64_t bytes = each.part_count(group_.size()) * ByteSize(each.dtype);
    CS336_ASSIGN_OR_RETURN(MemoryBlock block, memory.Allocate(group_.size() * bytes, /*alignment=*/256));
    CUdeviceptr to = ToDevicePointer(each.dst), from = ToDevicePointer(block.data());
    for (int part = 0; part != group_.size(); ++part, from += bytes)
      if (part != group_.rank()) {
        unpacking_.Add({to, from, bytes, /*dst_allocation=*/further_.size(), /*src_allocation=*/further_.size()});
        to += bytes;
      }
    each.dst = block.data();
    further_.push_back(std::move(block));
    return absl::OkStatus();
  }

  int Call(const Transfer &each, nccl::Comm comm) const {
    const NcclApi &api = group_.api();
    nccl::DataType type = ToNccl(each.dtype);
    CUstream stream = context_.stream();
    switch (kind_) {
    case format::CollectiveKind::all_gather:
      return api.AllGather(each.src, each.dst, each.src_count, type, comm, stream);
    case format::CollectiveKind::reduce_scatter:
      return api.ReduceScatter(each.src, each.dst, each.dst_count, type, reduction_, comm, stream);
    case format::CollectiveKind::broadcast:
      return api.Broadcast(each.src, each.dst, each.src_count, type, root_, comm, stream);
    case format::CollectiveKind::all_to_all:
      return api.AllToAll(each.src, each.dst, each.src_count / group_.size(), type, comm, stream);
    case format::CollectiveKind::all_reduce:
      break;
    }
    return api.AllReduce(each.src, each.dst, each.src_count, type, reduction_, comm, stream);
  }

  const CudaContext &context_;
  NcclGroup &group_;
  std::vector<Transfer> transfers_;
  // The copies of an operand are those of the allocations with the number of its further memory.
  PeerCopies packing_, unpacking_;
  std::vector<MemoryBlock> further_;
  format::CollectiveKind kind_;
  nccl::RedOp reduction_;
  int root_;
};

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareNcclCollective(const CudaContext &context, NcclGroup &group,
                                                                       DeviceMemory &memory,
                                                                       absl::Span<const MutableTensorView> buffers,
                                                                       const format::CollectiveT &collective) {
  std::vector<Transfer> transfers = BindTransfers(buffers, collective);
  for (const Transfer &each : transfers) {
    bool is_integer = each.dtype == DType::kI64 || each.dtype == DType::kI32;
    if (Reduces(collective.kind) && is_integer && static_cast<Reduction>(collective.reduction) == Reduction::kMean)
      return absl::UnimplementedError(
          absl::StrCat("a mean of ", Name(each.dtype), " over ranks on GPUs: compute the sum, and divide it"));
  }
  auto command = std::make_unique<NcclCollective>(context, group, std::move(transfers), collective);
  CS336_RETURN_IF_ERROR(command->Prepare(memory));
  return command;
}

} // namespace cs336::runtime
