//===- PlanSummary.cpp - Memory of an entry before it runs ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/PlanSummary.h"

#include "cs336/runtime/Storage.h"
#include "cs336/runtime/Tensor.h"
#include "cs336/runtime/format/Lifetimes.h"
#include "cs336/runtime/format/ReservedMemory.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <set>

namespace cs336::runtime {

namespace {

int64_t Bytes(const TensorType &type) { return TensorView(type, nullptr).num_bytes(); }

} // namespace

int64_t PlanSummary::total_bytes() const {
  int64_t total = 0;
  for (int64_t part : {arena_bytes, parameter_bytes, state_bytes, derived_bytes, input_bytes})
    total = AddBytes(total, part);
  return total;
}

absl::StatusOr<PlanSummary> Summarize(const Executable &executable, absl::string_view name, int64_t largest_count) {
  const format::EntryT *entry = executable.FindEntry(name);
  if (!entry)
    return absl::NotFoundError(absl::StrCat("the executable has no entry '", name, "'"));
  PlanSummary summary;
  summary.arena_bytes = entry->arena_bytes;
  format::ReservedMemory reserved = format::ComputeReservedMemory(executable.description());
  summary.parameter_bytes = reserved.parameters;
  summary.state_bytes = reserved.state;
  summary.derived_bytes = reserved.derived;
  summary.host_bytes = reserved.host;
  for (const auto &input : entry->inputs)
    summary.input_bytes = AddBytes(summary.input_bytes, Bytes(ToTensorType(*input->type)));

  for (size_t index : format::RankAllocations(*entry, format::Lifetimes(*entry))) {
    if (static_cast<int64_t>(summary.largest.size()) >= largest_count)
      break;
    const format::AllocationT &allocation = *entry->allocations[index];
    summary.largest.push_back(
        {allocation.source, allocation.location, ToTensorType(*allocation.type), allocation.byte_size});
  }

  std::set<uint32_t> kernels;
  for (const auto &command : entry->commands)
    if (const format::LaunchT *launch = command->body.AsLaunch())
      kernels.insert(launch->kernel);
  summary.commands = static_cast<int64_t>(entry->commands.size());
  summary.kernels = static_cast<int64_t>(kernels.size());
  return summary;
}

} // namespace cs336::runtime
