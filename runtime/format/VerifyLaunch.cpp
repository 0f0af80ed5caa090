//===- VerifyLaunch.cpp - Launches match their kernel ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/format/Alignments.h"
#include "format/Layout.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <vector>

namespace cs336::runtime {

namespace {

using absl::StrCat;

absl::Status VerifyOperand(const format::BufferT &buffer, const format::OperandSignatureT &operand) {
  if (Layout(buffer) != Layout(operand))
    return Broken(StrCat("'", buffer.name, "' ", ToString(Layout(buffer)), ", but the kernel requires ",
                         ToString(Layout(operand))));
  if (buffer.byte_offset % operand.alignment != 0)
    return Broken(StrCat("'", buffer.name, "' starts at byte ", buffer.byte_offset,
                         ", but the kernel requires a multiple of ", operand.alignment));
  return absl::OkStatus();
}

absl::Status VerifyWrites(const format::SignatureT &signature, const format::LaunchT &launch) {
  std::vector<uint32_t> writes;
  for (size_t i = 0; i != signature.operands.size(); ++i)
    if (signature.operands[i]->is_written)
      writes.push_back(i);
  if (launch.writes != writes)
    return Broken(StrCat("it writes operands [", absl::StrJoin(launch.writes, ", "), "], but the kernel writes [",
                         absl::StrJoin(writes, ", "), "]"));
  return absl::OkStatus();
}

absl::Status VerifyWorkspace(const format::SignatureT &signature, const format::EntryT &entry,
                             const format::LaunchT &launch) {
  if (launch.workspace.has_value() != (signature.workspace_bytes != 0))
    return Broken(StrCat("it has ", launch.workspace ? "a" : "no", " workspace, but the kernel requires ",
                         signature.workspace_bytes, " bytes"));
  if (!launch.workspace)
    return absl::OkStatus();
  const format::BufferT &workspace = *entry.buffers[*launch.workspace];
  int64_t bytes = ExtentBytes(Layout(workspace));
  if (bytes < signature.workspace_bytes || workspace.byte_offset % format::kLaunchWorkspaceAlignment != 0)
    return Broken(StrCat("its workspace has ", bytes, " bytes from byte ", workspace.byte_offset,
                         " on, but the kernel requires ", signature.workspace_bytes, " from a multiple of ",
                         format::kLaunchWorkspaceAlignment, " on"));
  return absl::OkStatus();
}

} // namespace

absl::Status VerifyLaunch(const format::ExecutableT &executable, const format::EntryT &entry,
                          const format::LaunchT &launch) {
  const format::SignatureT &signature = *executable.kernels[launch.kernel]->signature;
  if (launch.operands.size() != signature.operands.size())
    return Broken(
        StrCat("it has ", launch.operands.size(), " operands, but the kernel has ", signature.operands.size()));
  for (size_t i = 0; i != launch.operands.size(); ++i)
    CS336_RETURN_IF_ERROR(
        Annotate(VerifyOperand(*entry.buffers[launch.operands[i]], *signature.operands[i]), StrCat("operand ", i)));
  CS336_RETURN_IF_ERROR(VerifyWrites(signature, launch));
  if (launch.rows != signature.rows || launch.thread_bytes != signature.thread_bytes)
    return Broken(StrCat("it has ", launch.rows, " rows and ", launch.thread_bytes,
                         " bytes of memory per thread, but the kernel requires ", signature.rows, " and ",
                         signature.thread_bytes));
  if (launch.variant >= CountVariants(signature))
    return Broken(StrCat("it is of variant ", launch.variant, ", but the kernel has ", CountVariants(signature)));
  return VerifyWorkspace(signature, entry, launch);
}

} // namespace cs336::runtime
