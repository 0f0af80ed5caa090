//===- OutputReadback.cpp - Small outputs, read without waiting -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/OutputReadback.h"

#include "executor/HostCopy.h"
#include "memory/BlockLayout.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <utility>

namespace cs336::runtime {

absl::StatusOr<OutputReadback> OutputReadback::Create(Device &device, std::vector<TensorView> outputs) {
  OutputReadback readback;
  BlockLayout layout;
  for (TensorView &output : outputs) {
    Place place;
    place.bytes = ExtentBytes(output);
    if (place.bytes <= kMostBytes)
      place.offset = layout.Add(place.bytes);
    place.output = std::move(output);
    readback.places_.push_back(std::move(place));
  }
  for (Slot &slot : readback.slots_) {
    CS336_ASSIGN_OR_RETURN(slot.block, device.memory().AllocateStaging(layout.bytes()));
    CS336_ASSIGN_OR_RETURN(slot.copied, device.CreateMark());
  }
  return readback;
}

absl::Status OutputReadback::Enqueue(Device &device) {
  Slot &slot = slots_[runs_ % slots_.size()];
  for (const Place &place : places_)
    if (place.offset >= 0)
      CS336_RETURN_IF_ERROR(
          device.EnqueueCopyToHost(slot.block.data() + place.offset, place.output.data(), place.bytes));
  CS336_RETURN_IF_ERROR(slot.copied->Record());
  ++runs_;
  return absl::OkStatus();
}

absl::StatusOr<TensorView> OutputReadback::Find(size_t index, int runs_ago) {
  const Place &place = places_[index];
  if (place.offset < 0)
    return absl::NotFoundError(absl::StrCat("it has ", place.bytes, " bytes, but only outputs of up to ", kMostBytes,
                                            " bytes are kept from one run to the next"));
  if (runs_ago >= runs_)
    return absl::FailedPreconditionError(absl::StrCat("the entry has only run ", runs_, " times"));
  Slot &slot = slots_[(runs_ - 1 - runs_ago) % slots_.size()];
  CS336_RETURN_IF_ERROR(slot.copied->Wait());
  return TensorView(place.output.type(), place.output.strides(), slot.block.data() + place.offset);
}

} // namespace cs336::runtime
