//===- DeviceStart.h - Starting a device early ------------------*- C++ -*-===//
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

/// Starts the device of a future session. A GPU starts on a thread of its own
/// while the caller does other work, such as compiling the program.
/// Session::Create returns the errors of the start, as it does without this.
class DeviceStart {
public:
  explicit DeviceStart(SessionOptions options);
  /// Waits for the thread.
  ~DeviceStart();
  DeviceStart(DeviceStart &&);
  DeviceStart &operator=(DeviceStart &&);

  const SessionOptions &options() const { return options_; }

  /// Waits for the device and releases it to the caller. Called at most once.
  absl::StatusOr<std::unique_ptr<Device>> Take();

private:
  SessionOptions options_;
  std::future<absl::StatusOr<std::unique_ptr<Device>>> device_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICESTART_H
