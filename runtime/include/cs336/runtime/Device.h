//===- Device.h - Interface between executor and device ---------*- C++ -*-===//
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
// Executing may only enqueue. Enqueued work runs in the order of streams and
// events, and its errors are returned by the calls that wait for it.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_H
#define CS336_RUNTIME_DEVICE_H

#include "cs336/runtime/CommandInfo.h"
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

/// A command with all buffers bound. Execute() allocates nothing and may return
/// before the command is done.
class PreparedCommand {
public:
  virtual ~PreparedCommand();
  virtual absl::Status Execute() = 0;
  /// Returns the first error of earlier executions. Call it after a wait for the device. Values that the device has
  /// computed since the error are meaningless.
  virtual absl::Status Outcome() const { return absl::OkStatus(); }
};

/// A command and the buffers of its entry by index, bound to the session's
/// memory.
struct CommandContext {
  const format::CommandT &command;
  absl::Span<const MutableTensorView> buffers;
  /// The last command before it in its stream of the entry, except records, which do no work. Null if there is none.
  const format::CommandT *previous = nullptr;
  /// The entry has GEMMs after the command.
  bool gemms_follow = false;
};

/// A point in the order of a device's work.
class DeviceMark {
public:
  virtual ~DeviceMark();

  /// Moves the mark after all work that was enqueued so far.
  virtual absl::Status Record() = 0;
  /// Waits until the device has reached the point that Record() marked last.
  /// Returns at once if there is none.
  virtual absl::Status Wait() = 0;
  /// Returns the device's time from `start` to this mark. Valid after Wait().
  virtual absl::StatusOr<absl::Duration> Since(const DeviceMark &start) const = 0;
};

/// Copies the inputs of each run, in one block, to the memory that the entry's
/// commands read. Inputs in device memory belong to the caller; the feed reads
/// them after all work on CUDA's legacy default stream so far.
class InputFeed {
public:
  virtual ~InputFeed();

  /// Returns the block to write the next run's inputs to. A run that is under
  /// way does not read it.
  virtual absl::StatusOr<char *> Begin() = 0;
  /// Copies from `src` in device memory to `offset` of the block that Begin()
  /// returned. The host can read the bytes on return.
  virtual absl::Status Fetch(int64_t offset, const void *src, int64_t bytes) = 0;
  /// Makes Send() take this part of the inputs from `src` in device memory
  /// instead of the block that Begin() returned.
  virtual absl::Status TakeFromDevice(int64_t offset, const void *src, int64_t bytes) = 0;
  /// Sends the inputs: all commands that are enqueued from now on read them. On
  /// return, device memory given to TakeFromDevice() has been read.
  virtual absl::Status Send() = 0;
};

/// Runs the commands of one session.
class Device {
public:
  virtual ~Device();

  virtual DeviceId id() const = 0;
  /// Returns text such as "the CPU" or "cuda:0 (NVIDIA H200)".
  virtual std::string Description() const = 0;
  virtual DeviceMemory &memory() = 0;

  /// Performs the initialization that the first commands would otherwise wait for. Optional. It does not report errors:
  /// the same initialization fails again when a command needs it.
  virtual void WarmUp() = 0;

  /// Loads the executable's kernels. Returns FAILED_PRECONDITION if they were
  /// compiled for another machine.
  virtual absl::Status LoadKernels(const Executable &executable) = 0;

  /// Prepare one kind of command each. cs336::runtime::Prepare() calls the right
  /// one.
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

  /// Return the bytes of the workspace that the prepared commands share, and set
  /// its address. Called once, after all commands are prepared and before one
  /// runs.
  virtual int64_t workspace_bytes() const = 0;
  virtual void SetWorkspace(void *workspace) = 0;

  /// Combines all commands of an entry into one. `infos` describes them in the same order. Each execution records
  /// `begin` before the first command and `end` after the last. If the commands are launched together, the time between
  /// them does not include a launch by the host. All arguments must outlive the result. Called after SetWorkspace().
  virtual absl::StatusOr<std::unique_ptr<PreparedCommand>>
  PrepareSequence(absl::Span<const std::unique_ptr<PreparedCommand>> commands, absl::Span<const CommandInfo> infos,
                  DeviceMark &begin, DeviceMark &end) = 0;

  /// Creates a feed for `bytes` bytes of inputs at `inputs` in this device's
  /// memory. A GPU allocates format::kInputSlots blocks of this size there.
  virtual absl::StatusOr<std::unique_ptr<InputFeed>> PrepareInputs(char *inputs, int64_t bytes) = 0;

  virtual absl::StatusOr<std::unique_ptr<DeviceMark>> CreateMark() = 0;

  /// Enqueues a copy to memory that AllocateStaging() returned.
  virtual absl::Status EnqueueCopyToHost(void *staging, const void *src, int64_t bytes) = 0;

  /// Waits for all enqueued work and returns its first error.
  virtual absl::Status Synchronize() = 0;

  /// Tell tools to begin and to end recording, if they wait for this call. Do not wait for the device.
  virtual absl::Status StartTools() { return absl::OkStatus(); }
  virtual absl::Status StopTools() { return absl::OkStatus(); }

  /// Makes the execution of a sequence that was prepared by PrepareSequence() begin only when all of it is enqueued,
  /// but at most `limit` later than it could. 0 ends this. Has no effect on a device whose sequences begin at once.
  virtual void GateRuns(absl::Duration limit) {}

  /// Called before and after each run, on the thread that runs it.
  virtual absl::Status BeginRun() = 0;
  virtual void EndRun() = 0;
};

/// Prepares a command of any kind; errors name the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>> Prepare(Device &device, const CommandContext &context);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_H
