//===- CollectiveCommand.h - Collectives as prepared commands ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_COLLECTIVECOMMAND_H
#define CS336_RUNTIME_DEVICE_COLLECTIVECOMMAND_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/Device.h"

#include "absl/types/span.h"

#include <memory>

namespace cs336::runtime {

/// Binds a collective to a communicator, which must outlive it and have as many
/// ranks as the program. `buffers` are those of the entry.
std::unique_ptr<PreparedCommand> PrepareCollective(Communicator &communicator,
                                                   absl::Span<const MutableTensorView> buffers,
                                                   const format::CollectiveT &collective);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_COLLECTIVECOMMAND_H
