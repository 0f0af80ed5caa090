//===- Session.h - A loaded program and its state ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_SESSION_H
#define CS336_RUNTIME_SESSION_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/Executable.h"
#include "cs336/runtime/RunObserver.h"
#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

struct SessionOptions {
  /// Threads that one command may use; 0 takes all that OpenMP would.
  int num_threads = 0;
  /// Most bytes that the session may allocate; 0 takes what the host has
  /// available.
  int64_t memory_limit_bytes = 0;
  /// For collectives; null is a group of one.
  std::shared_ptr<Communicator> communicator;
};

/// An input of a run. `value` is read before Run returns and not kept.
struct NamedTensor {
  absl::string_view name;
  TensorView value;
};

/// Which variables a checkpoint holds. Derived ones are in none.
enum class VariableSet { kParameters, kParametersAndState };

struct LoadOptions {
  VariableSet set = VariableSet::kParametersAndState;
  /// Accept tensors whose names no variable has.
  bool ignore_extra = false;
};

/// An executable with its kernels loaded and all of its memory allocated:
/// variables, inputs, outputs, and one arena that its entries share. Not for
/// use by several threads at once.
class Session {
public:
  /// Allocates and prepares everything, so that running can neither allocate
  /// nor meet an unsupported command. Errors: RESOURCE_EXHAUSTED says how much
  /// was wanted for what; FAILED_PRECONDITION, a kernel for another machine;
  /// UNIMPLEMENTED, the command that this device cannot run.
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Executable> executable,
                                                         const SessionOptions &options = {});
  ~Session();

  const Executable &executable() const;
  /// Bytes that the session allocated.
  int64_t allocated_bytes() const;

  /// Gives every variable its initial value, then runs "prepare" if there is
  /// such an entry. Random values depend on the seed, the checkpoint name and
  /// the element's index alone: not on packing, threads or order.
  absl::Status InitializeVariables(uint64_t seed);

  /// Sets a variable, or a named view of one, from a tensor of its exact type.
  /// Derived variables follow at Prepare().
  absl::Status SetVariable(absl::string_view name, const TensorView &value);
  /// A copy of a variable or a named view.
  absl::StatusOr<Tensor> GetVariable(absl::string_view name) const;

  /// Sets every variable of the set by its checkpoint names, then runs
  /// "prepare". Nothing changes if names are missing, or extra, or of another
  /// type; the error lists them.
  absl::Status LoadVariables(const TensorMap &tensors, const LoadOptions &options = {});
  /// Copies of the set by checkpoint names.
  absl::StatusOr<TensorMap> SaveVariables(VariableSet set = VariableSet::kParametersAndState) const;

  /// Runs the entry "prepare", which computes derived variables, if there is
  /// one.
  absl::Status Prepare();

  /// Runs an entry to its end. `inputs` name each of its inputs once, in any
  /// order. INVALID_ARGUMENT, and no effect, if one is missing, extra, of
  /// another type, or holds a value out of its bound.
  absl::Status Run(absl::string_view entry, absl::Span<const NamedTensor> inputs, RunObserver *observer = nullptr);

  /// An output of an entry, or a named view of one, where it lies: as the last
  /// run of that entry left it, and until the next.
  absl::StatusOr<TensorView> Output(absl::string_view entry, absl::string_view name) const;

private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_SESSION_H
