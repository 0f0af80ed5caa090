//===- DeviceId.h - Names of devices ----------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICEID_H
#define CS336_RUNTIME_DEVICEID_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>

namespace cs336::runtime {

enum class DeviceKind : uint8_t { kCpu, kCuda };

/// One device of this machine.
struct DeviceId {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = 0; // Among the devices of its kind, in the driver's order.
  /// True for "cuda:0"; false for "cuda", which stands for a different GPU on each rank.
  bool has_ordinal = false;

  friend bool operator==(const DeviceId &a, const DeviceId &b) { return a.kind == b.kind && a.ordinal == b.ordinal; }
};

/// Parses "cpu", "cuda" (the same as "cuda:0") or "cuda:1". Returns
/// INVALID_ARGUMENT for any other text.
absl::StatusOr<DeviceId> ParseDevice(absl::string_view text);

/// Returns text such as "cpu" or "cuda:0".
std::string ToString(DeviceId device);

/// Returns the device of a rank. If `device` is a GPU without a number, it is the GPU with the number `local_rank`,
/// which is the rank among the ranks of its host.
DeviceId DeviceOfRank(DeviceId device, int local_rank);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICEID_H
