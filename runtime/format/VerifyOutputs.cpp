//===- VerifyOutputs.cpp - Rules of an entry's outputs --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last command that writes to the bytes of an output in the arena writes
// only there: the output is not overwritten before the entry ends.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "format/CommandVisitor.h"
#include "format/Layout.h"
#include "format/StorageRange.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace cs336::runtime {

namespace {

using absl::StrCat;

absl::Status VerifyOutput(const format::EntryT &entry, const format::OutputPortT &output) {
  if (output.buffer >= entry.buffers.size())
    return Broken(StrCat("it names buffer ", output.buffer, " of ", entry.buffers.size()));
  const format::BufferT &buffer = *entry.buffers[output.buffer];
  TensorType type = ToTensorType(*output.type);
  TensorType stored{ToDType(buffer.dtype), Dims(buffer.shape.begin(), buffer.shape.end())};
  if (stored != type)
    return Broken(StrCat("it is a ", ToString(type), ", but its buffer is a ", ToString(stored)));
  if (buffer.part_distance != 0)
    return Broken("its buffer is the part of a rank");
  return absl::OkStatus();
}

/// The range of an output whose last writer is not known yet.
struct OutputPlace {
  StorageRange range;
  const std::string *name;
  bool is_written = false;
};

std::vector<OutputPlace> FindPlaces(const format::ExecutableT &executable, const format::EntryT &entry) {
  std::vector<OutputPlace> places;
  for (const auto &output : entry.outputs)
    if (const format::BufferT &buffer = *entry.buffers[output->buffer]; buffer.source == format::BufferSource::arena)
      places.push_back({RangeOf(executable, buffer), &output->name});
  return places;
}

absl::Status VerifyWrite(const format::ExecutableT &executable, const format::BufferT &buffer,
                         std::vector<OutputPlace> &places) {
  if (buffer.source != format::BufferSource::arena)
    return absl::OkStatus();
  StorageRange written = RangeOf(executable, buffer);
  for (OutputPlace &place : places) {
    if (written.begin >= place.range.end || written.end <= place.range.begin)
      continue;
    if (written.begin < place.range.begin || written.end > place.range.end)
      return Broken(StrCat("it writes bytes [", written.begin, ", ", written.end, ") of the arena after output '",
                           *place.name, "' was written to [", place.range.begin, ", ", place.range.end, ")"));
    place.is_written = true;
  }
  return absl::OkStatus();
}

} // namespace

absl::Status VerifyOutputs(const format::ExecutableT &executable, const format::EntryT &entry) {
  for (const auto &output : entry.outputs)
    CS336_RETURN_IF_ERROR(Annotate(VerifyOutput(entry, *output), StrCat("output '", output->name, "'")));
  std::vector<OutputPlace> places = FindPlaces(executable, entry);
  // Walks from the last command back until every output has a writer.
  for (size_t i = entry.commands.size(); i-- > 0 && !places.empty();) {
    const format::CommandT &command = *entry.commands[i];
    auto written = WrittenBuffers(command);
    if (std::optional<uint32_t> workspace = FindWorkspace(command))
      written.push_back(*workspace);
    for (uint32_t index : written)
      CS336_RETURN_IF_ERROR(Annotate(VerifyWrite(executable, *entry.buffers[index], places),
                                     StrCat("command ", i, " '", command.name, "'")));
    places.erase(
        std::remove_if(places.begin(), places.end(), [](const OutputPlace &place) { return place.is_written; }),
        places.end());
  }
  return absl::OkStatus();
}

} // namespace cs336::runtime
