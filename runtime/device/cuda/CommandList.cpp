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
  for (size_t i = 0; i != commands_.size(); ++i) {
    ranges_.Enter(infos_[i]);
    if (absl::Status status = commands_[i]->Execute(); !status.ok())
      return Annotate(status, absl::StrCat(infos_[i].kind, " '", infos_[i].name, "'"));
  }
  return absl::OkStatus();
}

} // namespace cs336::runtime
