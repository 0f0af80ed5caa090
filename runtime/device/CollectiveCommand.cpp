//===- CollectiveCommand.cpp - Collectives as prepared commands -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/CollectiveCommand.h"

#include "format/CommandVisitor.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace cs336::runtime {

namespace {

/// A collective with all operands bound. Operands are exchanged one by one, in the same order on every rank.
class CollectiveCommand : public PreparedCommand {
public:
  CollectiveCommand(Communicator &communicator, const CommandContext &context, const format::CollectiveT &collective)
      : communicator_(communicator), description_(DescribeCommand(context.command)),
        transfers_(BindTransfers(context.buffers, collective)), kind_(collective.kind),
        reduction_(static_cast<Reduction>(collective.reduction)), root_(static_cast<int>(collective.root)) {
    for (const Transfer &transfer : transfers_) {
      if (transfer.src_rows > 1)
        packed_.resize(std::max(packed_.size(), static_cast<size_t>(transfer.src_count * ByteSize(transfer.dtype))));
      if (transfer.others)
        whole_.resize(std::max(whole_.size(), static_cast<size_t>(communicator.size() * PartBytes(transfer))));
    }
  }

  absl::Status Execute() override {
    for (const Transfer &transfer : transfers_)
      CS336_RETURN_IF_ERROR(Annotate(Exchange(transfer), description_));
    return absl::OkStatus();
  }

private:
  absl::Status Exchange(const Transfer &each) {
    if (!each.others)
      return ExchangeTo(each.dst, each);
    CS336_RETURN_IF_ERROR(ExchangeTo(whole_.data(), each));
    int64_t bytes = PartBytes(each), before = communicator_.rank() * bytes;
    std::memcpy(each.dst, whole_.data(), before);
    std::memcpy(static_cast<char *>(each.dst) + before, whole_.data() + before + bytes,
                (communicator_.size() - 1) * bytes - before);
    return absl::OkStatus();
  }

  absl::Status ExchangeTo(void *dst, const Transfer &each) {
    switch (kind_) {
    case format::CollectiveKind::all_gather:
      return communicator_.AllGather(each.src, dst, each.src_count, each.dtype);
    case format::CollectiveKind::reduce_scatter:
      return communicator_.ReduceScatter(each.src, dst, each.dst_count, each.dtype, reduction_);
    case format::CollectiveKind::broadcast:
      return communicator_.Broadcast(each.src, dst, each.src_count, each.dtype, root_);
    case format::CollectiveKind::all_to_all:
      return communicator_.AllToAll(each.src_rows > 1 ? Pack(each) : each.src, dst,
                                    each.src_count / communicator_.size(), each.dtype);
    case format::CollectiveKind::all_reduce:
      break;
    }
    return communicator_.AllReduce(each.src, dst, each.src_count, each.dtype, reduction_);
  }

  int64_t PartBytes(const Transfer &each) const { return each.part_count(communicator_.size()) * ByteSize(each.dtype); }

  /// Copies parts of several rows one after another.
  const char *Pack(const Transfer &transfer) {
    int parts = communicator_.size();
    int64_t bytes = transfer.row_bytes(parts);
    char *to = packed_.data();
    for (int part = 0; part != parts; ++part)
      for (int64_t row = 0; row != transfer.src_rows; ++row, to += bytes)
        std::memcpy(to, static_cast<const char *>(transfer.src) + transfer.row_offset(part, row, parts), bytes);
    return packed_.data();
  }

  Communicator &communicator_;
  std::string description_; // For errors: another rank may fail at any collective.
  std::vector<Transfer> transfers_;
  std::vector<char> packed_; // A source, if its parts have several rows.
  std::vector<char> whole_;  // The parts of all ranks, if a target has only those of others.
  format::CollectiveKind kind_;
  Reduction reduction_;
  int root_;
};

} // namespace

std::vector<Transfer> BindTransfers(absl::Span<const MutableTensorView> buffers,
                                    const format::CollectiveT &collective) {
  std::vector<Transfer> transfers;
  for (size_t i = 0; i != collective.sources.size(); ++i) {
    const MutableTensorView &src = buffers[collective.sources[i]], &dst = buffers[collective.targets[i]];
    // Verified: the shape of such a source is [parts, rows, columns].
    int64_t rows = src.is_dense() ? 1 : src.shape()[1];
    transfers.push_back(
        {src.data(), dst.mutable_data(), src.num_elements(), dst.num_elements(), src.dtype(), rows, collective.others});
  }
  return transfers;
}

std::unique_ptr<PreparedCommand> PrepareCollective(Communicator &communicator, const CommandContext &context,
                                                   const format::CollectiveT &collective) {
  return std::make_unique<CollectiveCommand>(communicator, context, collective);
}

} // namespace cs336::runtime
