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
        reduction_(static_cast<Reduction>(collective.reduction)), root_(static_cast<int>(collective.root)) {}

  absl::Status Execute() override {
    for (const Transfer &transfer : transfers_)
      CS336_RETURN_IF_ERROR(Annotate(Exchange(transfer), description_));
    return absl::OkStatus();
  }

private:
  absl::Status Exchange(const Transfer &each) {
    switch (kind_) {
    case format::CollectiveKind::all_gather:
      return communicator_.AllGather(each.src, each.dst, each.src_count, each.dtype);
    case format::CollectiveKind::reduce_scatter:
      return communicator_.ReduceScatter(each.src, each.dst, each.dst_count, each.dtype, reduction_);
    case format::CollectiveKind::broadcast:
      return communicator_.Broadcast(each.src, each.dst, each.src_count, each.dtype, root_);
    case format::CollectiveKind::all_to_all:
      return communicator_.AllToAll(each.src, each.dst, each.src_count / communicator_.size(), each.dtype);
    case format::CollectiveKind::all_reduce:
      break;
    }
    return communicator_.AllReduce(each.src, each.dst, each.src_count, each.dtype, reduction_);
  }

  Communicator &communicator_;
  std::string description_; // For errors: another rank may fail at any collective.
  std::vector<Transfer> transfers_;
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
    transfers.push_back({src.data(), dst.mutable_data(), src.num_elements(), dst.num_elements(), src.dtype()});
  }
  return transfers;
}

std::unique_ptr<PreparedCommand> PrepareCollective(Communicator &communicator, const CommandContext &context,
                                                   const format::CollectiveT &collective) {
  return std::make_unique<CollectiveCommand>(communicator, context, collective);
}

} // namespace cs336::runtime
