//===- DeviceStart.h - A device that starts meanwhile -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICESTART_H
#define CS336_RUNTIME_DEVICESTART_H

#include "cs336/runtime/Device.h"
#include "cs336/runtime/Session.h"

#include "absl/status/statusor.h"

#include <future>
#include <memory>

namespace cs336::runtime {

/// The device of a session to be. A GPU starts at once, on a thread of its own,
/// while the caller does something else, such as compile the program. What
/// fails, Session::Create says, as it does without this.
class DeviceStart {
public:
  explicit DeviceStart(SessionOptions options);
  /// Waits for the thread.
  ~DeviceStart();
  DeviceStart(DeviceStart &&);
  DeviceStart &operator=(DeviceStart &&);

  const SessionOptions &options() const { return options_; }

  /// Waits for the device, and gives it away; once.
  absl::StatusOr<std::unique_ptr<Device>> Take();

private:
  SessionOptions options_;
  std::future<absl::StatusOr<std::unique_ptr<Device>>> device_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICESTART_H
