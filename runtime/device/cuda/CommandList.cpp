//===- CommandList.cpp - Commands in one stream ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CommandList.h"

#include "status/StatusMacros.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace cs336::runtime {

absl::Status CommandList::Execute() {
  absl::Cleanup close = [this] { ranges_.Close(); };
  CS336_RETURN_IF_ERROR(begin_.Record(context_.stream()));
  CS336_RETURN_IF_ERROR(sequence_.ForEach([this](size_t i) {
    const CommandInfo &info = sequence_.infos()[i];
    ranges_.Enter(info);
    return Annotate(sequence_.commands()[i]->Execute(), absl::StrCat(info.kind, " '", info.name, "'"));
  }));
  return end_.Record(context_.stream());
}

} // namespace cs336::runtime
