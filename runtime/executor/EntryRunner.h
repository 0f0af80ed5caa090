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

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

/// Memory for an entry's inputs and outputs, its buffers bound to addresses,
/// and its commands prepared.
class EntryRunner {
public:
  /// Bytes that Create allocates on the device.
  static int64_t BytesFor(const format::EntryT &entry, const Device &device);

  /// Allocates inputs and outputs and prepares every command. All arguments
  /// outlive the runner.
  static absl::StatusOr<std::unique_ptr<EntryRunner>>
  Create(const format::EntryT &entry, Device &device, absl::Span<const MutableTensorView> variables, void *arena);

  /// To be called once the device has its workspace.
  absl::Status Finish();

  /// Fills the memory of inputs and outputs. Outputs that lie elsewhere, as
  /// variables do, keep their values.
  absl::Status FillPorts(uint8_t byte);

  /// Checks and feeds the inputs, then executes the commands in order, or
  /// enqueues that. Allocates nothing unless it fails or there is an observer.
  absl::Status Run(absl::Span<const NamedTensor> inputs, RunObserver *observer);

  /// As Session's functions of these names.
  absl::StatusOr<TensorView> Output(absl::string_view name);
  absl::StatusOr<TensorView> PreviousOutput(absl::string_view name);
  absl::StatusOr<TensorView> OutputOnDevice(absl::string_view name) const;
  absl::StatusOr<absl::Duration> LastRunDuration();

private:
  /// An output, or a named view of one.
  struct NamedOutput {
    TensorView view; // In the device's memory.
    size_t index;    // Of the readback.
    Storage copy;    // For the host, once it asked.
  };

  EntryRunner(const format::EntryT &entry, Device &device) : entry_(entry), device_(device) {}

  absl::Status AllocatePorts();
  void BindBuffers(absl::Span<const MutableTensorView> variables, void *arena);
  absl::Status BindOutputs();
  absl::Status PrepareCommands();
  absl::Status CheckInputs(absl::Span<const NamedTensor> inputs);
  absl::Status FeedInputs(absl::Span<const NamedTensor> inputs);
  absl::Status RunCommands(RunObserver *observer);
  absl::Status ExecuteObserved(RunObserver &observer);
  absl::StatusOr<NamedOutput *> FindOutput(absl::string_view name);

  const format::EntryT &entry_;
  Device &device_;
  MemoryBlock ports_;                   // Inputs first, then outputs.
  std::vector<int64_t> input_offsets_;  // In ports_, and in what the feed gives.
  std::vector<int64_t> output_offsets_; // In ports_; none where the value lies elsewhere.
  std::vector<TensorType> input_types_;
  std::vector<bool> given_; // Inputs that the present run was given.
  absl::flat_hash_map<std::string, size_t> input_index_;
  std::unique_ptr<InputFeed> feed_;
  absl::flat_hash_map<std::string, NamedOutput> outputs_;
  OutputReadback readback_;
  std::vector<MutableTensorView> buffers_;
  std::vector<CommandInfo> infos_;
  std::vector<std::unique_ptr<PreparedCommand>> commands_;
  std::unique_ptr<PreparedCommand> sequence_; // All of them.
  std::unique_ptr<DeviceMark> begin_, end_;   // Of the last run.
  bool has_run_ = false;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_ENTRYRUNNER_H
