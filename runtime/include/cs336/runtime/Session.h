//===- Session.h - A loaded program and its state ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_SESSION_H
#define CS336_RUNTIME_SESSION_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/DeviceId.h"
#include "cs336/runtime/Executable.h"
#include "cs336/runtime/RunObserver.h"
#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

class DeviceStart;

struct SessionOptions {
  /// "cpu", "cuda", "cuda:1".
  std::string device = "cpu";
  /// Threads of the host that one command may use, the caller's included, at
  /// most 4096. 0 takes OMP_NUM_THREADS if that is set, otherwise one thread per
  /// processor that the process may use. The last bits of f32 GEMMs on the CPU
  /// depend on it.
  int num_threads = 0;
  /// Most bytes that the session may allocate on its device; 0 takes what is
  /// available there.
  int64_t memory_limit_bytes = 0;
  /// Before each run, fills the entry's inputs and the arena, where outputs are,
  /// with what is NaN in every float type: whatever is read before it was
  /// written, or left unwritten, shows. To find mistakes of a compiler; costs a pass over
  /// that memory.
  bool poison_memory = false;
  /// For collectives; null is a group of one.
  std::shared_ptr<Communicator> communicator;
};

/// Where a value lies that a session is given.
enum class Placement : uint8_t {
  kHost,
  /// In the memory of the session's device, dense. It is read after what CUDA's
  /// legacy default stream was given, where DLPack has others order their work,
  /// but not after this session's own runs: Synchronize() before giving it what
  /// they write.
  kDevice,
};

/// An input of a run. `value` is read before Run returns and not kept.
struct NamedTensor {
  absl::string_view name;
  TensorView value;
  Placement placement = Placement::kHost;
};

/// Which variables a checkpoint holds. Derived ones are in none.
enum class VariableSet { kParameters, kParametersAndState };

struct LoadOptions {
  VariableSet set = VariableSet::kParametersAndState;
  /// Accept tensors whose names no variable has.
  bool ignore_extra = false;
};

/// What a session takes of its device's memory, in bytes.
struct SessionMemory {
  /// What the session allocated: exactly what the plan says, and alignment.
  int64_t allocated = 0;
  /// By the device's own count, since the session got its stream: that and the
  /// code of kernels, captured graphs and the driver's granularity. Others that
  /// use the device at the same time count in.
  int64_t used = 0;
  /// Still available.
  int64_t available = 0;
};

/// An executable with its kernels loaded and all of its memory allocated on one
/// device: variables, inputs, and one arena that its entries share for
/// temporaries and outputs.
/// One thread at a time may call it: a call while another is under way is
/// FAILED_PRECONDITION. A session on the CPU can be used after fork(), by either
/// process; one on a GPU is FAILED_PRECONDITION in the child.
///
/// On a GPU, Run() only enqueues. What fails there fails the next call that
/// waits: Synchronize(), or whatever reads a variable or an output.
class Session {
public:
  /// Allocates and prepares everything, so that running can neither allocate
  /// nor meet an unsupported command. Errors: RESOURCE_EXHAUSTED says how much
  /// was wanted for what; FAILED_PRECONDITION, a program or kernel for another
  /// device, or a driver that cannot be used; NOT_FOUND, no such device or no
  /// driver; UNIMPLEMENTED, the command that this device cannot run.
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Executable> executable,
                                                         const SessionOptions &options = {});
  /// On a device that is starting, with its options.
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Executable> executable,
                                                         DeviceStart start);
  ~Session();

  const Executable &executable() const;
  DeviceId device() const;
  /// Threads of the host that one command may use.
  int num_threads() const;
  /// Bytes that the session allocated on its device.
  int64_t allocated_bytes() const;
  absl::StatusOr<SessionMemory> Memory() const;

  /// Gives every variable its initial value, then runs "prepare" if there is
  /// such an entry. Random values depend on the seed, the checkpoint name and
  /// the element's index alone: not on packing, threads or order. Variables
  /// whose checkpoint names `given` has begin with those values instead, which
  /// have their types.
  absl::Status InitializeVariables(uint64_t seed, const TensorMap &given = {});

  /// Sets a variable, or a named view of one, from a tensor of its exact type,
  /// which has been read on return. Derived variables follow before the next
  /// run, or at Prepare(). State of integers counts steps: INVALID_ARGUMENT, and
  /// no effect, if an element is negative.
  absl::Status SetVariable(absl::string_view name, const TensorView &value, Placement placement = Placement::kHost);
  /// A copy of a variable or a named view.
  absl::StatusOr<Tensor> GetVariable(absl::string_view name) const;
  /// A variable or a named view in the device's memory, as long as the session
  /// lives. Synchronize() before others read or write it, and Prepare() after
  /// they have written. Executable::StaysOnHost() names those that lie in host
  /// memory instead, which the device reaches at the same address.
  absl::StatusOr<MutableTensorView> VariableOnDevice(absl::string_view name) const;

  /// Sets every variable of the set by its checkpoint names, then runs
  /// "prepare". Nothing changes if names are missing, or extra, or of another
  /// type, which the error lists, or if a counter is negative.
  absl::Status LoadVariables(const TensorMap &tensors, const LoadOptions &options = {});
  /// Copies of the set by checkpoint names.
  absl::StatusOr<TensorMap> SaveVariables(VariableSet set = VariableSet::kParametersAndState) const;

  /// Runs the entry "prepare", which computes derived variables, if there is
  /// one. Other entries do so first if variables have been set.
  absl::Status Prepare();

  /// Runs an entry, or enqueues that. `inputs` name each of its inputs once, in
  /// any order. INVALID_ARGUMENT, and no effect, if one is missing, extra, of
  /// another type, or holds a value out of its bound.
  absl::Status Run(absl::string_view entry, absl::Span<const NamedTensor> inputs, RunObserver *observer = nullptr);

  /// Waits for all that was enqueued; the first error of it.
  absl::Status Synchronize();

  /// An output of an entry, or a named view of one, in host memory, as the last
  /// run of that entry left it. One of at most 4 KiB was copied by the run and
  /// stays until that entry's next. A larger one stays until the next run of any
  /// entry, "prepare" too, since they share the memory that it is in; it is
  /// copied now from a GPU, and is FAILED_PRECONDITION when another entry has
  /// run since.
  absl::StatusOr<TensorView> Output(absl::string_view entry, absl::string_view name) const;

  /// An output of at most 4 KiB as the run before the last left it, in host
  /// memory until the next. Does not wait for the last run, so that a GPU never
  /// waits for somebody who follows the loss.
  absl::StatusOr<TensorView> PreviousOutput(absl::string_view entry, absl::string_view name) const;

  /// An output, small or not, in the device's memory until the next run of any
  /// entry; FAILED_PRECONDITION as for Output(). Synchronize() before others read
  /// it.
  absl::StatusOr<TensorView> OutputOnDevice(absl::string_view entry, absl::string_view name) const;

  /// The device's time from the first command of the entry's last run to the
  /// end of its last, once it is there.
  absl::StatusOr<absl::Duration> LastRunDuration(absl::string_view entry) const;

private:
  class Impl;
  class Call;
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Executable> executable,
                                                         const SessionOptions &options, DeviceStart *start);
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_SESSION_H
