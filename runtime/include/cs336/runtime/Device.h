//===- Device.h - What an executor asks of a device -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The seam between sessions and devices. A device takes each command of the
// executable once, at load, with its operands bound to addresses, and gives
// back something to execute again and again. All that can fail for want of
// support or memory fails then.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_H
#define CS336_RUNTIME_DEVICE_H

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <memory>

namespace cs336::runtime {

/// A command with everything bound. Executing it allocates nothing.
class PreparedCommand {
public:
  virtual ~PreparedCommand();
  virtual absl::Status Execute() = 0;
};

/// One command's view of its entry: the entry's buffers by index, bound to the
/// session's memory.
struct CommandContext {
  const format::CommandT &command;
  absl::Span<const MutableTensorView> buffers;
};

/// Runs the commands of one session.
class Device {
public:
  virtual ~Device();

  /// Makes the executable's kernels callable; FAILED_PRECONDITION if they are
  /// for another machine.
  virtual absl::Status LoadKernels(const Executable &executable) = 0;

  /// One function for each kind of command; Prepare() calls the right one.
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareLaunch(const CommandContext &context,
                                                                         const format::LaunchT &launch) = 0;
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareGemm(const CommandContext &context,
                                                                       const format::GemmT &gemm) = 0;
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCopy(const CommandContext &context,
                                                                       const format::CopyT &copy) = 0;
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCollective(const CommandContext &context,
                                                                             const format::CollectiveT &collective) = 0;
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareRecord(const CommandContext &context,
                                                                         const format::RecordT &record) = 0;
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareWait(const CommandContext &context,
                                                                       const format::WaitT &wait) = 0;

  /// Bytes of workspace that the prepared commands share, and where it is.
  /// Called once, after all of them are prepared and before any runs.
  virtual int64_t workspace_bytes() const = 0;
  virtual void SetWorkspace(void *workspace) = 0;

  /// Around each run, on the thread that runs it.
  virtual void BeginRun() = 0;
  virtual absl::Status EndRun() = 0;
};

/// Prepares a command of any kind; errors name the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>> Prepare(Device &device, const CommandContext &context);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_H
