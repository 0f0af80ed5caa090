//===- NvtxRanges.cpp - The model's parts for Nsight ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "profile/NvtxRanges.h"

#include <nvtx3/nvToolsExt.h>

namespace cs336::runtime {

namespace {

/// Returns the names of the ranges around a command, the outermost first.
std::vector<absl::string_view> RangesOf(const CommandInfo &command) {
  std::vector<absl::string_view> names;
  absl::string_view operation = command.source.empty() ? command.name : command.source;
  for (absl::string_view name : {command.entry, command.phase, command.layer, operation})
    if (!name.empty() && (names.empty() || names.back() != name))
      names.push_back(name);
  return names;
}

} // namespace

NvtxRanges::NvtxRanges() : domain_(nvtxDomainCreateA("cs336")) {}

NvtxRanges::~NvtxRanges() {
  Close();
  if (domain_)
    nvtxDomainDestroy(domain_);
}

void NvtxRanges::Enter(const CommandInfo &command) {
  if (!domain_)
    return;
  std::vector<absl::string_view> names = RangesOf(command);
  size_t shared = 0;
  while (shared < open_.size() && shared < names.size() && open_[shared] == names[shared])
    ++shared;
  CloseTo(shared);
  for (; shared < names.size(); ++shared) {
    open_.emplace_back(names[shared]);
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = open_.back().c_str();
    nvtxDomainRangePushEx(domain_, &attributes);
  }
}

void NvtxRanges::CloseTo(size_t depth) {
  for (; open_.size() > depth; open_.pop_back())
    nvtxDomainRangePop(domain_);
}

} // namespace cs336::runtime
