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
#include "cs336/runtime/GpuExchange.h"
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
  /// Host threads that one command may use, including the caller's, at most
  /// 4096. 0 stands for OMP_NUM_THREADS if that is set, else one thread per
  /// processor that the process may use. The last bits of f32 GEMMs on the CPU
  /// depend on it.
  int num_threads = 0;
  /// The most bytes that the session may allocate on its device; 0 stands for
  /// the available bytes.
  int64_t memory_limit_bytes = 0;
  /// Fill the entry's inputs and the arena, which also holds outputs, before each run with bytes that are NaN in every
  /// float type. NaN in results then shows values that are read before they are written, or never written. Use it to
  /// find compiler bugs; it costs one pass over this memory.
  bool poison_memory = false;
  /// Run each entry on a GPU as a CUDA graph. If false, its commands are launched one by one in the same order, with
  /// NVTX ranges around them (domain "cs336": entry, phase, layer, operation), for tools that do not show ranges in
  /// graphs, such as Nsight Systems and Nsight Compute. The results are bitwise the same. INVALID_ARGUMENT on the CPU,
  /// which has no graphs.
  bool use_graphs = true;
  /// The way in which ranks on GPUs exchange data. On the CPU, values other than kAuto are INVALID_ARGUMENT.
  GpuExchange exchange = GpuExchange::kAuto;
  /// The group that runs collectives; null stands for a group of one rank. It must have the number of ranks for which
  /// the program was compiled.
  std::shared_ptr<Communicator> communicator;
};

/// The memory in which a caller's value lies.
enum class Placement : uint8_t {
  kHost,
  /// In the memory of the session's device, dense. The session reads it after
  /// all work on CUDA's legacy default stream so far, which is where DLPack
  /// producers order their work. It does not wait for its own runs: call
  /// Synchronize() before passing memory that they write.
  kDevice,
};

/// An input of a run. Run() reads `value` before it returns and does not keep it.
struct NamedTensor {
  absl::string_view name;
  TensorView value;
  Placement placement = Placement::kHost;
};

/// The variables that a checkpoint holds. Derived values are in no set.
enum class VariableSet { kParameters, kParametersAndState };

struct LoadOptions {
  VariableSet set = VariableSet::kParametersAndState;
  /// Ignore tensors whose names are not names of variables, instead of returning an error.
  bool ignore_extra = false;
};

/// The device memory that a session uses, in bytes.
struct SessionMemory {
  /// The bytes that the session allocated: those of the plan, alignment, and `workspace`.
  int64_t allocated = 0;
  /// The part of `allocated` that GEMMs and kernels use on a CPU as scratch memory. It depends on the processor and the
  /// number of threads, and plans do not contain it. 0 on a GPU.
  int64_t workspace = 0;
  /// The bytes that came into use since the session created its stream, as the device reports them. This includes the
  /// code of kernels, captured graphs, the driver's granularity, and other users of the device at the same time.
  int64_t used = 0;
  /// The bytes that are still available.
  int64_t available = 0;

  /// The bytes that the device reported as used before: the context of this process, and all other users of the device.
  /// 0 for the host's memory.
  int64_t before = 0;
  /// Unplanned parts of `used`, counted while the session was created: code and constants of the program's kernels;
  /// memory of other libraries, such as cuBLASLt's kernels; captured graphs; and the bytes that the device adds to
  /// allocations. They are never negative, even if other users release memory at the same time.
  int64_t kernels = 0, libraries = 0, graphs = 0, rounding = 0;
};

/// An executable with its kernels loaded and all of its memory allocated on one
/// device: variables, inputs, and one arena that its entries share for
/// allocations and outputs.
/// One thread at a time may call it: a call while another is under way returns
/// FAILED_PRECONDITION. After fork(), both processes can use a session on the
/// CPU; calls to one on a GPU return FAILED_PRECONDITION in the child.
///
/// On a GPU, Run() only enqueues commands. Their errors are returned by the next
/// call that waits: Synchronize(), or a read of a variable or an output.
///
/// A program for several ranks may shard variables: each rank's session stores a
/// part of their rows (format::Variable::shards). Callers give and get whole
/// values. A session keeps its own rows of a value that is set or loaded, so all
/// ranks must set the same value. Reads of a sharded variable are collectives:
/// all ranks must make them in the same order, between the same runs.
class Session {
public:
  /// Allocates memory and prepares all commands, so that Run() neither allocates
  /// nor meets an unsupported command. Errors: RESOURCE_EXHAUSTED, with the
  /// requested bytes and their purpose; INVALID_ARGUMENT, for a program of
  /// another number of ranks; FAILED_PRECONDITION, for a program or
  /// kernel of another device, or a driver that cannot be used; NOT_FOUND, if
  /// there is no such device or no driver; UNIMPLEMENTED, with the command that
  /// this device cannot run.
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Executable> executable,
                                                         const SessionOptions &options = {});
  /// Creates a session on a device that is starting, with its options.
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Executable> executable,
                                                         DeviceStart start);
  ~Session();

  const Executable &executable() const;
  DeviceId device() const;
  /// Returns the number of host threads that one command may use.
  int num_threads() const;
  /// Returns the bytes that the session allocated on its device.
  int64_t allocated_bytes() const;
  absl::StatusOr<SessionMemory> Memory() const;

  /// Sets every variable that has an initial value to it, then runs the entry
  /// "prepare" if there is one. Parameters without one must be given here, loaded
  /// or set before the first run. Random values depend only on the seed, the checkpoint name and
  /// the index of the element, not on packing, threads or order. Variables whose
  /// checkpoint names are in `given` get those values instead. Returns
  /// INVALID_ARGUMENT, and changes nothing, if `given` has another name, a tensor
  /// of another type than its variable, or a negative counter.
  absl::Status InitializeVariables(uint64_t seed, const TensorMap &given = {});

  /// Sets a variable, or a named view of one, from a tensor of exactly its type.
  /// The tensor has been read on return. Derived values are computed again before
  /// the next run, or by Prepare(). Integer state counts steps: returns
  /// INVALID_ARGUMENT, without an effect, if an element is negative.
  absl::Status SetVariable(absl::string_view name, const TensorView &value, Placement placement = Placement::kHost);
  /// Returns a copy of a variable or a named view. If the variable is sharded, the call is a collective.
  absl::StatusOr<Tensor> GetVariable(absl::string_view name) const;
  /// Returns the sum of the squares of a variable or a named view, in float64. If the variable is sharded, the call is
  /// a collective: each rank adds the squares of its own part, and all ranks return the same sum.
  absl::StatusOr<double> SumOfSquares(absl::string_view name) const;
  /// Returns a variable or a named view in the device's memory, valid while the
  /// session lives. Call Synchronize() before other code reads or writes it, and
  /// Prepare() after other code has written it, which also counts it as set.
  /// Variables for which
  /// Executable::StaysOnHost() is true lie in host memory instead, which the
  /// device reaches at the same address. Returns FAILED_PRECONDITION for a sharded
  /// variable.
  absl::StatusOr<MutableTensorView> VariableOnDevice(absl::string_view name) const;

  /// Sets every variable of the set by its checkpoint names, then runs "prepare".
  /// f32 variables also take bf16 and f16 tensors, whose values they hold exactly.
  /// Returns an error and changes nothing if names are missing or extra, if types
  /// differ (the error lists them), or if a counter is negative.
  absl::Status LoadVariables(const TensorMap &tensors, const LoadOptions &options = {});
  /// Returns copies of the variables of the set by their checkpoint names. Returns FAILED_PRECONDITION if a variable
  /// has no value yet. If a variable of the set is sharded, the call is a collective.
  absl::StatusOr<TensorMap> SaveVariables(VariableSet set = VariableSet::kParametersAndState) const;

  /// Runs the entry "prepare", which computes derived values, if there is one.
  /// Run() does so first if variables have been set. Returns FAILED_PRECONDITION
  /// as Run() does.
  absl::Status Prepare();

  /// Runs an entry, or enqueues it on a GPU. `inputs` holds each input of the
  /// entry once, in any order. Returns INVALID_ARGUMENT, without an effect, if an
  /// input is missing, extra or of another type; and without an effect on
  /// variables, if an input has a value out of its bound.
  /// Returns FAILED_PRECONDITION if a parameter of the entry was neither initialized, nor
  /// loaded, nor set: the error lists the first 20 names. State has its initial
  /// value from the beginning, unless that is random.
  /// The first run of an entry with collectives compares the programs of all
  /// ranks, and returns FAILED_PRECONDITION if one of them differs.
  absl::Status Run(absl::string_view entry, absl::Span<const NamedTensor> inputs, RunObserver *observer = nullptr);

  /// Waits for all enqueued work and returns its first error.
  absl::Status Synchronize();

  /// Wait for all enqueued work, then tell tools to begin and to end recording:
  /// `nsys profile --capture-range=cudaProfilerApi`, `ncu --profile-from-start
  /// off`. Have no effect without such a tool, and on the CPU.
  absl::Status StartTools();
  absl::Status StopTools();

  /// The longest limit of GateRuns().
  static constexpr absl::Duration kMaxGateLimit = absl::Minutes(1);
  /// Makes a GPU begin each following run only when all of its commands are enqueued, so that a host which enqueues
  /// them slowly, for example under a profiler, adds no gaps between kernels. The GPU waits for at most `limit`: a
  /// launch of more commands than the driver queues would otherwise never return. A limit of 0 ends this. The wait is
  /// not part of LastRunDuration(). Has no effect on runs with an observer, which wait for each command, and on the
  /// CPU. Returns INVALID_ARGUMENT if the limit is negative or above kMaxGateLimit.
  absl::Status GateRuns(absl::Duration limit);

  /// Returns an output of an entry's last run, or a named view of one, in host
  /// memory. The run itself copies outputs of at most 4 KiB, which stay valid
  /// until the next run of that entry. A larger output stays valid until the next
  /// run of any entry, also of "prepare", because entries share the arena. It is
  /// copied from a GPU by this call. Returns FAILED_PRECONDITION if the last run
  /// of the entry failed, and for a larger output if another entry has run since.
  absl::StatusOr<TensorView> Output(absl::string_view entry, absl::string_view name) const;

  /// Returns an output of at most 4 KiB of the run before the last one, in host
  /// memory, valid until the next run. Does not wait for the last run, so that
  /// reading the loss of every step does not stall a GPU.
  absl::StatusOr<TensorView> PreviousOutput(absl::string_view entry, absl::string_view name) const;

  /// Returns an output of any size in the device's memory, valid until the next
  /// run of any entry. Returns FAILED_PRECONDITION as Output() does. Call
  /// Synchronize() before other code reads it.
  absl::StatusOr<TensorView> OutputOnDevice(absl::string_view entry, absl::string_view name) const;

  /// Waits for the entry's last run, and returns the device's time from the start
  /// of its first command to the end of its last. A GPU measures it within the
  /// graph, so that the host's launch is not part of it.
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
