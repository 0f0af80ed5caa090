//===- CheckBoundCommand.h - Integers checked on the host -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CPU_CHECKBOUNDCOMMAND_H
#define CS336_RUNTIME_DEVICE_CPU_CHECKBOUNDCOMMAND_H

#include "cs336/runtime/Device.h"

#include <memory>

namespace cs336::runtime {

/// Copies integers if all are in bounds. Otherwise Execute() returns an error
/// and writes nothing.
std::unique_ptr<PreparedCommand> PrepareHostCheckBound(const CommandContext &context, const format::CheckBoundT &check);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_CHECKBOUNDCOMMAND_H
