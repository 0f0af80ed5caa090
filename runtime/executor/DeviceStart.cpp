//===- DeviceStart.cpp - Starting a device early --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/DeviceStart.h"

#include "executor/CreateDevice.h"
#include "status/StatusMacros.h"

#include <utility>

namespace cs336::runtime {

namespace {

absl::StatusOr<std::unique_ptr<Device>> Start(const SessionOptions &options) {
  CS336_ASSIGN_OR_RETURN(DeviceId id, ParseDevice(options.device));
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, CreateDevice(id, options));
  device->WarmUp();
  return device;
}

} // namespace

// The thread gets a copy of the options, because this object may move.
DeviceStart::DeviceStart(SessionOptions options)
    : options_(std::move(options)), device_(std::async(std::launch::async, Start, options_)) {}
DeviceStart::~DeviceStart() = default;
DeviceStart::DeviceStart(DeviceStart &&) = default;
DeviceStart &DeviceStart::operator=(DeviceStart &&) = default;

absl::StatusOr<std::unique_ptr<Device>> DeviceStart::Take() { return device_.get(); }

} // namespace cs336::runtime
