//===- GpuExchange.cpp - How ranks on GPUs exchange data ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/GpuExchange.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <iterator>

namespace cs336::runtime {

namespace {

/// In the order of the enumeration.
constexpr absl::string_view kNames[] = {"auto", "nccl", "peers"};

} // namespace

absl::StatusOr<GpuExchange> ParseGpuExchange(absl::string_view text) {
  const absl::string_view *found = std::find(std::begin(kNames), std::end(kNames), text);
  if (found == std::end(kNames))
    return absl::InvalidArgumentError(absl::StrCat("unknown exchange '", text, "': expected auto, nccl or peers"));
  return static_cast<GpuExchange>(found - std::begin(kNames));
}

std::string ToString(GpuExchange exchange) { return std::string(kNames[static_cast<size_t>(exchange)]); }

} // namespace cs336::runtime
