//===- CollectiveCommand.cpp - Collectives as prepared commands -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/CollectiveCommand.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <utility>

namespace cs336::runtime {

namespace {

/// A collective with all operands bound.
template <typename Call>
class CollectiveCommand : public PreparedCommand {
public:
  explicit CollectiveCommand(Call call) : call_(std::move(call)) {}
  absl::Status Execute() override { return call_(); }

private:
  Call call_;
};

template <typename Call>
std::unique_ptr<PreparedCommand> MakeCommand(Call call) {
  return std::make_unique<CollectiveCommand<Call>>(std::move(call));
}

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCollective(Communicator &communicator,
                                                                   const MutableTensorView &src,
                                                                   const MutableTensorView &dst,
                                                                   const format::CollectiveT &collective) {
  int64_t from = src.num_elements(), to = dst.num_elements();
  int64_t ranks = communicator.size();
  DType dtype = src.dtype();
  const void *source = src.data();
  void *target = dst.mutable_data();
  auto reduction = static_cast<Reduction>(collective.reduction);
  int root = static_cast<int>(collective.root);
  auto wrong_size = [&](int64_t compiled_for) {
    return absl::InvalidArgumentError(
        absl::StrCat("it was compiled for ", compiled_for, " ranks, but this run has ", ranks));
  };
  switch (collective.kind) {
  case format::CollectiveKind::all_reduce:
    return MakeCommand([=, &communicator] { return communicator.AllReduce(source, target, from, dtype, reduction); });
  case format::CollectiveKind::all_gather:
    if (to / from != ranks)
      return wrong_size(to / from);
    return MakeCommand([=, &communicator] { return communicator.AllGather(source, target, from, dtype); });
  case format::CollectiveKind::reduce_scatter:
    if (from / to != ranks)
      return wrong_size(from / to);
    return MakeCommand([=, &communicator] { return communicator.ReduceScatter(source, target, to, dtype, reduction); });
  case format::CollectiveKind::broadcast:
    break;
  }
  if (collective.root >= static_cast<uint64_t>(ranks))
    return absl::InvalidArgumentError(absl::StrCat("its root is rank ", collective.root, ", but this run has ", ranks));
  return MakeCommand([=, &communicator] { return communicator.Broadcast(source, target, from, dtype, root); });
}

} // namespace cs336::runtime
