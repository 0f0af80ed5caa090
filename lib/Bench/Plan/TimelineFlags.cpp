//===- TimelineFlags.cpp - Flags of memory over time ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/TimelineFlags.h"

#include "cs336/Support/ByteSize.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;

TimelineFlags::TimelineFlags(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : device(category, subcommand), files(category, subcommand),
      detail("detail", cl::desc("Least size of buffers in tables, e.g. 10MiB (default: all)"), cl::value_desc("size"),
             cl::cat(category), cl::sub(subcommand)) {}

absl::Status TimelineFlags::check(size_t numPlans) const {
  if (absl::Status status = device.check(); !status.ok())
    return status;
  if (detail.getNumOccurrences() > 0 && !parseBytes(detail))
    return absl::InvalidArgumentError(
        absl::StrCat("--detail is '", detail.getValue(), "', must be a size such as 10MiB"));
  return files.check(numPlans);
}

int64_t TimelineFlags::getDetailBytes() const { return parseBytes(detail.getValue()).value_or(1); }
