//===- EntryRunner.h - One entry, bound and ready to run --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_EXECUTOR_ENTRYRUNNER_H
#define CS336_RUNTIME_EXECUTOR_ENTRYRUNNER_H

#include "cs336/runtime/Device.h"
#include "cs336/runtime/Session.h"
#include "executor/OutputReadback.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

/// The memory that a session's entries share, and which of them left its values
/// there.
struct SharedArena {
  MemoryBlock block;
  const format::EntryT *holder = nullptr; // The one that ran last.
};

/// Memory for an entry's inputs, its buffers bound to addresses, and its
/// commands prepared.
class EntryRunner {
public:
  /// Bytes that Create allocates on the device.
  static int64_t BytesFor(const format::EntryT &entry, const Device &device);

  /// Allocates inputs and prepares every command. All arguments outlive the
  /// runner.
  static absl::StatusOr<std::unique_ptr<EntryRunner>> Create(const format::EntryT &entry, Device &device,
                                                             absl::Span<const MutableTensorView> variables,
                                                             SharedArena &arena);

  /// To be called once the device has its workspace.
  absl::Status Finish();

  /// Fills the memory of inputs.
  absl::Status FillInputs(uint8_t byte);

  /// Checks and feeds the inputs, then executes the commands in order, or
  /// enqueues that. Allocates nothing unless it fails or there is an observer.
  absl::Status Run(absl::Span<const NamedTensor> inputs, RunObserver *observer);

  /// The first error of the runs that the device is done with, once it had run
  /// ahead of them: see PreparedCommand::Outcome.
  absl::Status Outcome() const;

  /// As Session's functions of these names.
  absl::StatusOr<TensorView> Output(absl::string_view name);
  absl::StatusOr<TensorView> PreviousOutput(absl::string_view name);
  absl::StatusOr<TensorView> OutputOnDevice(absl::string_view name);
  absl::StatusOr<absl::Duration> LastRunDuration();

private:
  /// An output, or a named view of one.
  struct NamedOutput {
    TensorView view;  // In the device's memory.
    bool is_in_arena; // And not in a variable or an input.
    size_t index;     // Of the readback.
    Storage copy;     // For the host, once it asked.
  };

  EntryRunner(const format::EntryT &entry, Device &device, SharedArena &arena)
      : entry_(entry), device_(device), arena_(arena) {}

  absl::Status AllocateInputs();
  void BindBuffers(absl::Span<const MutableTensorView> variables);
  absl::Status BindOutputs();
  absl::Status PrepareCommands();
  absl::Status CheckInputs(absl::Span<const NamedTensor> inputs);
  absl::Status FeedInputs(absl::Span<const NamedTensor> inputs);
  absl::Status ExecuteObserved(RunObserver &observer);
  absl::StatusOr<NamedOutput *> FindOutput(absl::string_view name);
  /// That no other entry has run since this one left the output.
  absl::Status CheckIsThere(absl::string_view name, const NamedOutput &output) const;

  const format::EntryT &entry_;
  Device &device_;
  SharedArena &arena_;
  MemoryBlock inputs_;
  std::vector<int64_t> input_offsets_; // In inputs_, and in what the feed gives.
  std::vector<TensorType> input_types_;
  std::vector<bool> given_; // Inputs that the present run was given.
  std::map<std::string, size_t, std::less<>> input_index_;
  std::unique_ptr<InputFeed> feed_;
  std::map<std::string, NamedOutput, std::less<>> outputs_;
  OutputReadback readback_;
  std::vector<MutableTensorView> buffers_;
  std::vector<CommandInfo> infos_;
  std::vector<std::unique_ptr<PreparedCommand>> commands_;
  std::vector<const PreparedCommand *> checks_; // Those that may have an outcome.
  std::unique_ptr<PreparedCommand> sequence_;   // All of them.
  std::unique_ptr<DeviceMark> begin_, end_;     // Of the last run.
  bool has_run_ = false;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_ENTRYRUNNER_H
