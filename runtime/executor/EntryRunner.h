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

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

/// Storage for an entry's inputs and outputs, its buffers bound to addresses,
/// and its commands prepared.
class EntryRunner {
public:
  /// Allocates inputs and outputs. `entry`, `variables` and `arena` outlive the
  /// runner.
  static absl::StatusOr<std::unique_ptr<EntryRunner>>
  Create(const format::EntryT &entry, absl::Span<const MutableTensorView> variables, void *arena);

  /// Prepares every command.
  absl::Status Prepare(Device &device);

  /// Checks and copies the inputs, then executes the commands in order.
  /// Allocates nothing unless it fails or there is an observer.
  absl::Status Run(Device &device, absl::Span<const NamedTensor> inputs, RunObserver *observer);

  absl::StatusOr<TensorView> Output(absl::string_view name) const;

private:
  explicit EntryRunner(const format::EntryT &entry) : entry_(entry) {}

  absl::Status AllocatePorts();
  void BindBuffers(absl::Span<const MutableTensorView> variables, void *arena);
  void BindOutputs();
  absl::Status CheckInputs(absl::Span<const NamedTensor> inputs);
  absl::Status ExecuteObserved(RunObserver &observer);

  const format::EntryT &entry_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_; // Empty where the value lies elsewhere.
  std::vector<bool> given_;     // Inputs that the present run was given.
  absl::flat_hash_map<std::string, size_t> input_index_;
  absl::flat_hash_map<std::string, TensorView> output_views_;
  std::vector<MutableTensorView> buffers_;
  std::vector<CommandInfo> infos_;
  std::vector<std::unique_ptr<PreparedCommand>> commands_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_ENTRYRUNNER_H
