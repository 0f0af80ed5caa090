//===- VerifyAllocations.cpp - Rules of memory in the arena ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/Verifier.h"

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Tensor.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cs336::runtime {

using absl::StrCat;

namespace {

absl::Status VerifyAllocation(const format::EntryT &entry, const format::AllocationT &allocation) {
  CS336_RETURN_IF_ERROR(VerifyType(*allocation.type));
  if (allocation.byte_offset < 0 || allocation.byte_size < 0 || allocation.byte_offset > entry.arena_bytes ||
      allocation.byte_size > entry.arena_bytes - allocation.byte_offset)
    return Broken(StrCat("bytes [", allocation.byte_offset, ", +", allocation.byte_size, ") are not within the ",
                         entry.arena_bytes, " of the arena"));
  TensorView value(ToTensorType(*allocation.type), nullptr);
  if (value.num_bytes() > allocation.byte_size)
    return Broken(StrCat("its ", ToString(value.type()), " does not fit into ", allocation.byte_size, " bytes"));
  return absl::OkStatus();
}

/// Requires a buffer that is within the arena.
absl::Status VerifyBufferInArena(const format::EntryT &entry, const format::BufferT &buffer) {
  if (buffer.index >= entry.allocations.size())
    return Broken(StrCat("it names allocation ", buffer.index, " of ", entry.allocations.size()));
  const format::AllocationT &allocation = *entry.allocations[buffer.index];
  if (buffer.byte_offset < allocation.byte_offset ||
      buffer.byte_offset + buffer.byte_size > allocation.byte_offset + allocation.byte_size)
    return Broken(StrCat("bytes [", buffer.byte_offset, ", +", buffer.byte_size, ") are not within allocation ",
                         buffer.index, ", which has [", allocation.byte_offset, ", +", allocation.byte_size, ")"));
  return absl::OkStatus();
}

} // namespace

absl::Status VerifyAllocations(const format::EntryT &entry) {
  for (size_t i = 0; i != entry.allocations.size(); ++i)
    CS336_RETURN_IF_ERROR(Annotate(VerifyAllocation(entry, *entry.allocations[i]),
                                   StrCat("allocation ", i, " '", entry.allocations[i]->source, "'")));
  for (size_t i = 0; i != entry.buffers.size(); ++i)
    if (entry.buffers[i]->source == format::BufferSource::arena)
      CS336_RETURN_IF_ERROR(Annotate(VerifyBufferInArena(entry, *entry.buffers[i]),
                                     StrCat("buffer ", i, " '", entry.buffers[i]->name, "'")));
  return absl::OkStatus();
}

} // namespace cs336::runtime
