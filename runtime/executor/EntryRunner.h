//===- EntryRunner.h - One entry, bound and prepared ------------*- C++ -*-===//
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
#include "executor/VariableStore.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

/// The arena that a session's entries share, and the entry whose values are in
/// it.
struct SharedArena {
  MemoryBlock block;
  const format::EntryT *holder = nullptr; // The entry whose whole run was the last one.
};

/// The memory of an entry's inputs, its buffers bound to addresses, and its
/// prepared commands.
class EntryRunner {
public:
  /// Allocates inputs and prepares every command. All arguments must outlive
  /// the runner.
  static absl::StatusOr<std::unique_ptr<EntryRunner>> Create(const format::EntryT &entry, Device &device,
                                                             const VariableStore &variables, SharedArena &arena);

  /// Combines the commands. Called after the device has its workspace.
  absl::Status Finish();

  /// Fills the memory of the inputs.
  absl::Status FillInputs(uint8_t byte);
  /// Fills the arena, which then has no outputs.
  absl::Status FillArena(uint8_t byte);

  /// Returns INVALID_ARGUMENT if an input is missing, extra or of another type.
  absl::Status CheckInputs(absl::Span<const NamedTensor> inputs);

  /// Copies the inputs, which CheckInputs() has accepted, and checks their
  /// bounds, then executes the commands in order, or enqueues them. Allocates
  /// nothing unless it fails or there is an observer. A run that fails leaves
  /// no outputs. With `poison`, memory that the commands have not written has
  /// this byte.
  absl::Status Run(absl::Span<const NamedTensor> inputs, RunObserver *observer, absl::optional<uint8_t> poison);

  /// Returns the first error of runs that the device has completed, see
  /// PreparedCommand::Outcome().
  absl::Status Outcome() const;

  /// Same as the functions of Session with these names.
  absl::StatusOr<TensorView> Output(absl::string_view name);
  absl::StatusOr<TensorView> PreviousOutput(absl::string_view name);
  absl::StatusOr<TensorView> OutputOnDevice(absl::string_view name);
  absl::StatusOr<absl::Duration> LastRunDuration();

private:
  /// An output, or a named view of one.
  struct NamedOutput {
    TensorView view;  // In device memory.
    bool is_in_arena; // Not in a variable or an input.
    size_t index;     // Index in the readback.
    Storage copy;     // Copy for the host, once requested.
  };

  EntryRunner(const format::EntryT &entry, Device &device, SharedArena &arena)
      : entry_(entry), device_(device), arena_(arena) {}

  absl::Status AllocateInputs();
  void BindBuffers(const VariableStore &variables);
  absl::Status BindOutputs();
  absl::Status PrepareCommands();
  absl::Status FeedInputs(absl::Span<const NamedTensor> inputs);
  absl::Status ExecuteObserved(RunObserver &observer);
  absl::StatusOr<NamedOutput *> FindOutput(absl::string_view name);
  /// Returns FAILED_PRECONDITION if the last run failed.
  absl::Status CheckHasEnded() const;
  /// Checks that no other entry has run since this one computed the output.
  absl::Status CheckIsThere(absl::string_view name, const NamedOutput &output) const;

  const format::EntryT &entry_;
  Device &device_;
  SharedArena &arena_;
  MemoryBlock inputs_;
  std::vector<int64_t> input_offsets_; // In inputs_ and in the feed's block.
  std::vector<TensorType> input_types_;
  std::vector<bool> given_; // Inputs that the present run has received.
  std::map<std::string, size_t, std::less<>> input_index_;
  std::unique_ptr<InputFeed> feed_;
  std::map<std::string, NamedOutput, std::less<>> outputs_;
  OutputReadback readback_;
  std::vector<MutableTensorView> buffers_;
  std::vector<CommandInfo> infos_;
  std::vector<std::unique_ptr<PreparedCommand>> commands_;
  std::vector<const PreparedCommand *> checks_; // Commands that may have an outcome.
  std::unique_ptr<DeviceMark> begin_, end_;     // Around the commands of the last run.
  std::unique_ptr<DeviceMark> done_;            // After them, also for the host.
  std::unique_ptr<PreparedCommand> sequence_;   // All commands; records `begin_` and `end_`.
  bool has_run_ = false;
  bool has_failed_ = false; // The last run.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_ENTRYRUNNER_H
