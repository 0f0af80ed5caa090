//===- Device.cpp - Preparing commands for a device -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Device.h"

#include "format/CommandVisitor.h"
#include "status/StatusMacros.h"

namespace cs336::runtime {

PreparedCommand::~PreparedCommand() = default;
DeviceMemory::~DeviceMemory() = default;
DeviceMark::~DeviceMark() = default;
InputFeed::~InputFeed() = default;
Device::~Device() = default;

absl::StatusOr<std::unique_ptr<PreparedCommand>> Prepare(Device &device, const CommandContext &context) {
  const format::CommandT &command = context.command;
  auto prepared = VisitBody(
      command.body, Overloaded{
                        [&](const format::LaunchT &body) { return device.PrepareLaunch(context, body); },
                        [&](const format::GemmT &body) { return device.PrepareGemm(context, body); },
                        [&](const format::CopyT &body) { return device.PrepareCopy(context, body); },
                        [&](const format::CollectiveT &body) { return device.PrepareCollective(context, body); },
                        [&](const format::RecordT &body) { return device.PrepareRecord(context, body); },
                        [&](const format::WaitT &body) { return device.PrepareWait(context, body); },
                        [&](const format::CheckBoundT &body) { return device.PrepareCheckBound(context, body); },
                    });
  if (prepared.ok())
    return prepared;
  return Annotate(prepared.status(), DescribeCommand(command));
}

} // namespace cs336::runtime
