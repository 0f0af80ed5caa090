//===- Checkpoint.h - Variables of a session in a file ----------*- C++ -*-===//
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

/// Writes the session's variables of the set, and in a .safetensors file what
/// the bits of its results depend on: the number of threads, on the CPU. Errors
/// as WriteTensors.
absl::Status SaveCheckpoint(const Session &session, absl::string_view path,
                            VariableSet set = VariableSet::kParametersAndState);

/// Returns a sentence that says why steps after a checkpoint with these notes
/// have other bits in this session than in the one that wrote it; empty if there
/// is no reason known.
std::string ExplainOtherBits(const FileNotes &notes, const Session &session);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_CHECKPOINT_H
