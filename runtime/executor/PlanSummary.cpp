//===- PlanSummary.cpp - Memory of an entry before it runs ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/PlanSummary.h"

#include "cs336/runtime/Storage.h"
#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

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
  for (size_t i = 0; i != executable.variables().size(); ++i) {
    const format::VariableT &variable = *executable.variables()[i];
    int64_t &total = executable.StaysOnHost(i)                          ? summary.host_bytes
                     : variable.kind == format::VariableKind::parameter ? summary.parameter_bytes
                     : variable.kind == format::VariableKind::state     ? summary.state_bytes
                                                                        : summary.derived_bytes;
    total = AddBytes(total, Bytes(ReservedType(variable)));
  }
  for (const auto &input : entry->inputs)
    summary.input_bytes = AddBytes(summary.input_bytes, Bytes(ToTensorType(*input->type)));

  std::set<std::pair<int64_t, int64_t>> places;
  for (const auto &buffer : entry->buffers) {
    // Views of the same bytes would repeat one tensor in the list.
    if (buffer->source == format::BufferSource::arena && places.insert({buffer->byte_offset, buffer->byte_size}).second)
      summary.largest.push_back({buffer->name,
                                 buffer->location,
                                 {ToDType(buffer->dtype), Dims(buffer->shape.begin(), buffer->shape.end())},
                                 buffer->byte_size});
  }
  std::sort(summary.largest.begin(), summary.largest.end(), [](const PlanSummary::Item &a, const PlanSummary::Item &b) {
    return std::tie(b.byte_size, a.name) < std::tie(a.byte_size, b.name);
  });
  if (static_cast<int64_t>(summary.largest.size()) > largest_count)
    summary.largest.resize(std::max<int64_t>(largest_count, 0));

  std::set<uint32_t> kernels;
  for (const auto &command : entry->commands)
    if (const format::LaunchT *launch = command->body.AsLaunch())
      kernels.insert(launch->kernel);
  summary.commands = static_cast<int64_t>(entry->commands.size());
  summary.kernels = static_cast<int64_t>(kernels.size());
  return summary;
}

} // namespace cs336::runtime
