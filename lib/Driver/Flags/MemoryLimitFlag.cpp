//===- MemoryLimitFlag.cpp - Memory that a cell may take ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/MemoryLimitFlag.h"

#include "absl/strings/str_cat.h"

using namespace cs336;

absl::Status MemoryLimitFlag::check() const {
  if (getNumOccurrences() == 0 || parseBytes(getValue()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--memory-limit is '", getValue(), "', must be a size such as 40GiB"));
}
