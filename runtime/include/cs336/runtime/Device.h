//===- Device.h - What an executor asks of a device -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between sessions and devices. A device prepares each command of
// the executable once, at load time, with its operands bound to addresses, and
// returns an object that can be executed many times. Missing support or memory
// is an error of the preparation.
//
// Executing may only enqueue. Enqueued work runs in order, and its errors are
// returned by the calls that wait for it.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_H
#define CS336_RUNTIME_DEVICE_H

#include "cs336/runtime/DeviceId.h"
#include "cs336/runtime/DeviceMemory.h"
#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>
#include <string>

namespace cs336::runtime {

/// A command with everything bound. Executing it allocates nothing, and may
/// return before it is done.
class PreparedCommand {
public:
  virtual ~PreparedCommand();
  virtual absl::Status Execute() = 0;
  /// Returns the first error that a device which had run ahead met in executing
  /// it, once the device was waited for: what it computed since is worthless.
  virtual absl::Status Outcome() const { return absl::OkStatus(); }
};

/// One command's view of its entry: the entry's buffers by index, bound to the
/// session's memory.
struct CommandContext {
  const format::CommandT &command;
  absl::Span<const MutableTensorView> buffers;
};

/// A point in the order of a device's work.
class DeviceMark {
public:
  virtual ~DeviceMark();

  /// Moves the mark behind all that was enqueued so far.
  virtual absl::Status Record() = 0;
  /// Returns once the device has come to where the mark was last recorded, at
  /// once if nowhere.
  virtual absl::Status Wait() = 0;
  /// The device's time from `start`'s mark to this one, after Wait().
  virtual absl::StatusOr<absl::Duration> Since(const DeviceMark &start) const = 0;
};

/// Brings the inputs of each run, laid out in one block, to where the entry's
/// commands read them. What comes from the device's memory is others', and is
/// read after what they ordered before CUDA's legacy default stream.
class InputFeed {
public:
  virtual ~InputFeed();

  /// Where to write the inputs of the next run. A run that is under way does
  /// not see them.
  virtual absl::StatusOr<char *> Begin() = 0;
  /// Writes what lies at `src` in the device's memory to `offset` of what
  /// Begin() gave, where the host sees it on return.
  virtual absl::Status Fetch(int64_t offset, const void *src, int64_t bytes) = 0;
  /// Has Send() take this part of the inputs from `src` in the device's memory,
  /// in place of what Begin() gave.
  virtual absl::Status TakeFromDevice(int64_t offset, const void *src, int64_t bytes) = 0;
  /// Hands over what was written, and has read what it takes from the device's
  /// memory: all that is enqueued from now on reads it.
  virtual absl::Status Send() = 0;
};

/// Runs the commands of one session.
class Device {
public:
  virtual ~Device();

  virtual DeviceId id() const = 0;
  /// "the CPU", "cuda:0 (NVIDIA H200)".
  virtual std::string Description() const = 0;
  virtual DeviceMemory &memory() = 0;

  /// Does what the first commands would otherwise wait for; may be called first
  /// of all, or not. What fails here fails again where it is needed.
  virtual void WarmUp() = 0;

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
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCheckBound(const CommandContext &context,
                                                                             const format::CheckBoundT &check) = 0;

  /// Bytes of workspace that the prepared commands share, and where it is.
  /// Called once, after all of them are prepared and before any runs.
  virtual int64_t workspace_bytes() const = 0;
  virtual void SetWorkspace(void *workspace) = 0;

  /// Makes one command of all of an entry's, which outlive it; after
  /// SetWorkspace.
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>>
  PrepareSequence(absl::Span<const std::unique_ptr<PreparedCommand>> commands) = 0;

  /// A feed of `bytes` of inputs at `inputs`, in this device's memory, for
  /// which it allocates InputFeedBytes(bytes) more there.
  virtual absl::StatusOr<std::unique_ptr<InputFeed>> PrepareInputs(char *inputs, int64_t bytes) = 0;
  virtual int64_t InputFeedBytes(int64_t bytes) const = 0;

  virtual absl::StatusOr<std::unique_ptr<DeviceMark>> CreateMark() = 0;

  /// Enqueues a copy to memory of AllocateStaging().
  virtual absl::Status EnqueueCopyToHost(void *staging, const void *src, int64_t bytes) = 0;

  /// Waits for all that was enqueued; the first error of it.
  virtual absl::Status Synchronize() = 0;

  /// Around each run, on the thread that runs it.
  virtual absl::Status BeginRun() = 0;
  virtual void EndRun() = 0;
};

/// Prepares a command of any kind; errors name the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>> Prepare(Device &device, const CommandContext &context);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_H
