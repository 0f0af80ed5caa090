//===- Checkpoint.h - A session's variables in a file -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_CHECKPOINT_H
#define CS336_RUNTIME_CHECKPOINT_H

#include "cs336/runtime/Session.h"
#include "cs336/runtime/TensorFile.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>

namespace cs336::runtime {

/// Writes the session's variables of the set. A .safetensors file also gets notes on settings that change the bits of
/// results: on the CPU, the number of threads. Tensors are whole, also those of sharded variables. If the set has
/// sharded variables, every rank must make this call with its own path, or call JoinCheckpoint(). Returns the errors of
/// WriteTensors.
absl::Status SaveCheckpoint(const Session &session, absl::string_view path,
                            VariableSet set = VariableSet::kParametersAndState);

/// Takes part in the SaveCheckpoint() of other ranks, and writes no file. Has no effect if no variable of the session
/// is sharded.
absl::Status JoinCheckpoint(const Session &session, VariableSet set = VariableSet::kParametersAndState);

/// Returns a sentence with the reason why steps after a checkpoint with these notes give other bits in this session
/// than in the session that wrote it; empty if no reason is known.
std::string ExplainOtherBits(const FileNotes &notes, const Session &session);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_CHECKPOINT_H
