//===- DeviceId.cpp - Names of devices ------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/DeviceId.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>

namespace cs336::runtime {

absl::StatusOr<DeviceId> ParseDevice(absl::string_view text) {
  if (text == "cpu")
    return DeviceId{DeviceKind::kCpu, 0};
  if (text == "cuda")
    return DeviceId{DeviceKind::kCuda, 0};
  absl::string_view digits = text;
  DeviceId device{DeviceKind::kCuda, 0, /*has_ordinal=*/true};
  // SimpleAtoi would accept a sign and spaces.
  if (absl::ConsumePrefix(&digits, "cuda:") && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) &&
      absl::SimpleAtoi(digits, &device.ordinal))
    return device;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown device '", text, "': expected cpu, cuda or cuda:N with N the GPU's number"));
}

std::string ToString(DeviceId device) {
  return device.kind == DeviceKind::kCpu ? "cpu" : absl::StrCat("cuda:", device.ordinal);
}

DeviceId DeviceOfRank(DeviceId device, int local_rank) {
  if (device.kind == DeviceKind::kCuda && !device.has_ordinal)
    device.ordinal = local_rank;
  return device;
}

} // namespace cs336::runtime
