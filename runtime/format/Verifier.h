//===- Verifier.h - Rules of the executable format --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_VERIFIER_H
#define CS336_RUNTIME_FORMAT_VERIFIER_H

#include "cs336/runtime/format/Executable_generated.h"

#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <cstddef>

namespace cs336::runtime {

/// Returns the error for an object that breaks `rule`.
inline absl::Status Broken(absl::string_view rule) { return absl::InvalidArgumentError(rule); }

/// Checks every rule that Executable.fbs states and FlatBuffers does not know.
/// INVALID_ARGUMENT says which object breaks which rule.
absl::Status Verify(const format::ExecutableT &executable);

/// Check parts of an executable. An entry's commands are checked after
/// everything that they refer to, streams after events, and integers and
/// outputs, which rely on the order of the commands, after streams. Allocations
/// are checked after buffers.
absl::Status VerifyType(const format::TensorTypeT &type);
absl::Status VerifyKernel(const format::ExecutableT &executable, const format::KernelT &kernel);
/// Requires a signature that has been checked, and operands of at least `workspace_bytes` of workspace.
absl::Status VerifyTensorMap(const format::SignatureT &signature, int64_t workspace_bytes,
                             const format::TensorMapT &map);
absl::Status VerifyCommands(const format::ExecutableT &executable, const format::EntryT &entry);
absl::Status VerifyStreams(const format::ExecutableT &executable, const format::EntryT &entry);
absl::Status VerifyIntegers(const format::ExecutableT &executable, const format::EntryT &entry);
absl::Status VerifyOutputs(const format::ExecutableT &executable, const format::EntryT &entry);
absl::Status VerifyAllocations(const format::EntryT &entry);

/// Calls `verify` with the commands of an entry in order. Returns its first
/// error, with the command.
template <typename Function>
absl::Status VerifyEachCommand(const format::EntryT &entry, Function &&verify) {
  for (size_t i = 0; i != entry.commands.size(); ++i) {
    const format::CommandT &command = *entry.commands[i];
    if (absl::Status status = verify(command); !status.ok())
      return Annotate(status, absl::StrCat("command ", i, " '", command.name, "'"));
  }
  return absl::OkStatus();
}

/// Check parts of a command: that a launch matches its kernel's signature, and
/// that the buffers that a command writes do not overlap its other buffers.
/// VerifyCommands has checked the indices of buffers and of the kernel.
absl::Status VerifyLaunch(const format::ExecutableT &executable, const format::EntryT &entry,
                          const format::LaunchT &launch);
absl::Status VerifyAliasing(const format::ExecutableT &executable, const format::EntryT &entry,
                            const format::CommandT &command);

/// Returns true for the integers that can be indices: i32 and i64.
bool IsIndexType(format::DType dtype);

/// Returns the number of variants of a signature, each with its ranges of
/// integers; 1 if no operand has a range.
size_t CountVariants(const format::SignatureT &signature);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FORMAT_VERIFIER_H
