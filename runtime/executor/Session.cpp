//===- Session.cpp - A loaded program and its state -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Session.h"

#include "cs336/runtime/DeviceStart.h"
#include "cs336/runtime/format/ReservedMemory.h"
#include "executor/CreateDevice.h"
#include "executor/EntryRunner.h"
#include "executor/VariableStore.h"
#include "parallel/Parallel.h"
#include "status/StatusMacros.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"

#include <algorithm>
#include <atomic>
#include <map>

namespace cs336::runtime {

/// Bytes that a session allocates.
struct MemoryDemand {
  format::ReservedMemory reserved;
  int64_t workspace = 0;
  absl::string_view arena_entry = "none"; // The entry with the largest arena.
  int64_t arena_alignment = Storage::kAlignment;

  int64_t total() const { return AddBytes(reserved.total(), workspace); }
};

namespace {

constexpr absl::string_view kPrepareEntry = "prepare";

/// A byte that makes NaN of every float type.
constexpr uint8_t kPoison = 0xFF;

MemoryDemand DemandOf(const Executable &executable) {
  MemoryDemand demand;
  demand.reserved = format::ComputeReservedMemory(executable.description());
  for (const auto &entry : executable.entries()) {
    demand.arena_alignment = std::max(demand.arena_alignment, entry->alignment);
    if (entry->arena_bytes == demand.reserved.arena)
      demand.arena_entry = entry->name;
  }
  return demand;
}

absl::Status CheckTarget(const Executable &executable, DeviceId device) {
  bool for_cuda = executable.description().target == format::Target::cuda;
  bool on_cuda = device.kind == DeviceKind::kCuda;
  if (for_cuda == on_cuda)
    return absl::OkStatus();
  absl::string_view wanted = on_cuda ? "cuda" : "cpu";
  return absl::FailedPreconditionError(
      absl::StrCat("the program was compiled for ", for_cuda ? "cuda" : "cpu", " and cannot run on ", ToString(device),
                   ": compile it with --device ", wanted, " (in Python, device=\"", wanted,
                   "\"), or run it on the kind of device that it was compiled for"));
}

int NumRanks(const SessionOptions &options) { return options.communicator ? options.communicator->size() : 1; }

absl::Status CheckRanks(const Executable &executable, const SessionOptions &options) {
  int64_t compiled_for = executable.description().world_size;
  if (compiled_for == NumRanks(options))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the program was compiled for ", compiled_for,
                                                 " ranks, but this run has ", NumRanks(options),
                                                 ": start as many ranks as its collectives have in their group"));
}

bool HasCollectives(const format::EntryT &entry) {
  return absl::c_any_of(entry.commands,
                        [](const auto &command) { return command->body.type == format::CommandBody::Collective; });
}

absl::Status CheckLimit(const MemoryDemand &demand, const SessionOptions &options, absl::string_view memory,
                        int64_t available) {
  bool limited = options.memory_limit_bytes > 0;
  int64_t limit = limited ? options.memory_limit_bytes : available;
  if (demand.total() <= limit)
    return absl::OkStatus();
  const format::ReservedMemory &reserved = demand.reserved;
  return absl::ResourceExhaustedError(absl::StrCat(
      "the program needs ", FormatBytes(demand.total()), " of ", memory, ", but ", FormatBytes(limit),
      limited ? " is the limit" : " are available", ": parameters ", FormatBytes(reserved.parameters), ", state ",
      FormatBytes(reserved.state), ", derived variables ", FormatBytes(reserved.derived), ", inputs ",
      FormatBytes(AddBytes(reserved.inputs, reserved.input_slots)), ", alignment of variables and inputs ",
      FormatBytes(reserved.alignment), ", arena (for entry '", demand.arena_entry, "') ", FormatBytes(reserved.arena),
      ", workspace of GEMMs and kernels ", FormatBytes(demand.workspace)));
}

/// Returns true if the entry "prepare" has other commands than launches.
/// Launches do not access their operands before they run, but preparing a GEMM
/// runs it, and copies are captured with the addresses known so far.
bool PrepareNeedsOperandsEarly(const Executable &executable) {
  const format::EntryT *prepare = executable.FindEntry(kPrepareEntry);
  return prepare && absl::c_any_of(prepare->commands, [](const auto &command) {
           return command->body.type != format::CommandBody::Launch;
         });
}

} // namespace

class Session::Impl {
public:
  Impl(std::shared_ptr<const Executable> executable, const SessionOptions &options, std::unique_ptr<ThreadTeam> team,
       std::unique_ptr<Device> device)
      : executable_(std::move(executable)), options_(options), team_(std::move(team)), device_(std::move(device)) {}
  /// Waits, because enqueued work still uses the memory that is released now.
  ~Impl() { device_->Synchronize().IgnoreError(); }

  absl::Status Allocate() {
    DeviceMemory &memory = device_->memory();
    CS336_ASSIGN_OR_RETURN(int64_t available, memory.AvailableBytes());
    demand_ = DemandOf(*executable_);
    CS336_RETURN_IF_ERROR(CheckLimit(demand_, options_, memory.Name(), available));
    // Device::WarmUp() may have loaded libraries already.
    CS336_ASSIGN_OR_RETURN(int64_t used_at_start, memory.UsedBytes());
    CS336_RETURN_IF_ERROR(device_->LoadKernels(*executable_));
    CS336_ASSIGN_OR_RETURN(int64_t used_with_kernels, memory.UsedBytes());

    CS336_ASSIGN_OR_RETURN(variables_, VariableStore::Create(*executable_, memory, options_.communicator.get()));
    absl::StatusOr<MemoryBlock> arena = memory.Allocate(demand_.reserved.arena, demand_.arena_alignment);
    if (!arena.ok())
      return Annotate(arena.status(), "arena");
    arena_.block = *std::move(arena);
    CS336_ASSIGN_OR_RETURN(int64_t used_with_arena, memory.UsedBytes());
    if (PrepareNeedsOperandsEarly(*executable_))
      CS336_RETURN_IF_ERROR(variables_.ReachHost());

    for (const auto &entry : executable_->entries()) {
      auto runner = EntryRunner::Create(*entry, *device_, variables_, arena_);
      if (!runner.ok())
        return Annotate(runner.status(), absl::StrCat("entry '", entry->name, "'"));
      runners_.emplace(entry->name, *std::move(runner));
    }
    demand_.workspace = device_->workspace_bytes();
    CS336_RETURN_IF_ERROR(CheckLimit(demand_, options_, memory.Name(), available));
    absl::StatusOr<MemoryBlock> workspace = memory.Allocate(demand_.workspace, Storage::kAlignment);
    if (!workspace.ok())
      return Annotate(workspace.status(), "workspace of GEMMs and kernels");
    workspace_ = *std::move(workspace);
    device_->SetWorkspace(workspace_.data());

    CS336_ASSIGN_OR_RETURN(int64_t used_with_commands, memory.UsedBytes());

    // This comes late, because preparing commands may have run them on this
    // memory.
    CS336_RETURN_IF_ERROR(variables_.Clear());
    for (auto &[name, runner] : runners_) {
      CS336_RETURN_IF_ERROR(runner->FillArena(kPoison));
      CS336_RETURN_IF_ERROR(runner->FillInputs(kPoison));
      CS336_RETURN_IF_ERROR(Annotate(runner->Finish(), absl::StrCat("entry '", name, "'")));
    }
    CS336_ASSIGN_OR_RETURN(int64_t used_with_graphs, memory.UsedBytes());
    auto positive = [](int64_t bytes) { return std::max<int64_t>(0, bytes); };
    unplanned_.before = memory.BytesBefore();
    unplanned_.kernels = positive(used_with_kernels - used_at_start);
    int64_t planned_with_commands = demand_.total() - variables_.device_bytes() - demand_.reserved.arena;
    unplanned_.libraries = used_at_start + positive(used_with_commands - used_with_arena - planned_with_commands);
    unplanned_.graphs = positive(used_with_graphs - used_with_commands);
    unplanned_.rounding =
        positive(used_with_arena - used_with_kernels - variables_.device_bytes() - demand_.reserved.arena);
    return absl::OkStatus();
  }

  absl::StatusOr<EntryRunner *> FindRunner(absl::string_view entry) const {
    auto found = runners_.find(entry);
    if (found != runners_.end())
      return found->second.get();
    return absl::NotFoundError(
        absl::StrCat("the executable has no entry '", entry,
                     "'; it has: ", absl::StrJoin(executable_->entries(), ", ", [](std::string *out, const auto &each) {
                       absl::StrAppend(out, each->name);
                     })));
  }

  absl::Status Run(absl::string_view entry, absl::Span<const NamedTensor> inputs, RunObserver *observer) {
    CS336_ASSIGN_OR_RETURN(EntryRunner * runner, FindRunner(entry));
    if (!variables_.IsSet())
      CS336_RETURN_IF_ERROR(variables_.CheckIsSet(*executable_->FindEntry(entry)));
    return RunEntry(entry, *runner, inputs, observer);
  }

  absl::Status RunEntry(absl::string_view entry, EntryRunner &runner, absl::Span<const NamedTensor> inputs,
                        RunObserver *observer) {
    CS336_RETURN_IF_ERROR(Annotate(runner.CheckInputs(inputs), absl::StrCat("entry '", entry, "'")));
    if (entry == kPrepareEntry)
      CS336_RETURN_IF_ERROR(variables_.ReachHost());
    else if (variables_.IsAheadOfDerived())
      CS336_RETURN_IF_ERROR(Prepare());
    CS336_RETURN_IF_ERROR(Outcome());
    if (HasCollectives(*executable_->FindEntry(entry)))
      CS336_RETURN_IF_ERROR(ComparePrograms());
    absl::optional<uint8_t> poison = options_.poison_memory ? absl::make_optional(kPoison) : absl::nullopt;
    absl::Status status = runner.Run(inputs, observer, poison);
    // Only "prepare" uses variables in host memory. After it, the host may access them again.
    if (status.ok() && entry == kPrepareEntry)
      status = AfterOutcome(device_->Synchronize());
    if (!status.ok())
      return Annotate(status, absl::StrCat("entry '", entry, "'"));
    return status;
  }

  /// Compares the programs of all ranks before their first collective.
  absl::Status ComparePrograms() {
    if (has_compared_programs_)
      return absl::OkStatus();
    if (options_.communicator)
      CS336_RETURN_IF_ERROR(options_.communicator->CompareProgram(executable_->description().program_hash));
    has_compared_programs_ = true;
    return absl::OkStatus();
  }

  /// Computes derived values. Those of variables without a value are computed
  /// again after these were set.
  absl::Status Prepare() {
    if (executable_->FindEntry(kPrepareEntry)) {
      CS336_ASSIGN_OR_RETURN(EntryRunner * runner, FindRunner(kPrepareEntry));
      CS336_RETURN_IF_ERROR(RunEntry(kPrepareEntry, *runner, {}, nullptr));
    }
    variables_.AcceptDerived();
    return absl::OkStatus();
  }

  /// Runs "prepare" now, or before the next run if variables have no value yet.
  absl::Status PrepareIfSet() { return variables_.IsSet() ? Prepare() : absl::OkStatus(); }

  /// Reserves the session for one call. Returns FAILED_PRECONDITION if another call is running, or if the session is on
  /// a GPU and this process is a fork of the one that created it.
  absl::Status Acquire() {
    if (is_in_use_.exchange(true))
      return absl::FailedPreconditionError("the session is in use by another thread: give each thread a session of its "
                                           "own, or let one thread at a time call it");
    absl::Status status = team_->IsFromAnotherProcess() ? MoveToThisProcess() : absl::OkStatus();
    if (!status.ok())
      Release();
    return status;
  }
  void Release() { is_in_use_ = false; }

  ThreadTeam &team() { return *team_; }
  /// Returns the first error of the runs that the device has completed, of any
  /// entry. After an error, values computed since must not be read.
  absl::Status Outcome() const {
    for (const auto &[name, runner] : runners_)
      if (absl::Status outcome = runner->Outcome(); !outcome.ok())
        return Annotate(outcome, absl::StrCat("entry '", name, "'"));
    return absl::OkStatus();
  }

  /// Returns the error of Outcome() if there is one, else `result`, which has
  /// waited for the device.
  template <typename Result>
  Result AfterOutcome(Result result) const {
    if (absl::Status outcome = Outcome(); !outcome.ok())
      return outcome;
    return result;
  }

  const Executable &executable() const { return *executable_; }
  int64_t allocated_bytes() const { return demand_.total(); }
  int64_t workspace_bytes() const { return demand_.workspace; }
  const SessionMemory &unplanned() const { return unplanned_; }
  Device &device() { return *device_; }
  VariableStore &variables() { return variables_; }

private:
  /// Makes the session usable after fork(): its memory exists in the child, but not its threads. Returns an error for a
  /// GPU, whose connection does not survive.
  absl::Status MoveToThisProcess() {
    if (device_->id().kind == DeviceKind::kCuda)
      return absl::FailedPreconditionError(
          "the session was created before fork(), which a connection to a GPU does not survive: create it in the "
          "process that uses it, and start processes with the method 'spawn' (in Python, "
          "multiprocessing.set_start_method(\"spawn\"))");
    CS336_ASSIGN_OR_RETURN(team_, ThreadTeam::Create(team_->size()));
    return absl::OkStatus();
  }

  std::shared_ptr<const Executable> executable_;
  SessionOptions options_;
  std::unique_ptr<ThreadTeam> team_;
  std::atomic<bool> is_in_use_{false};
  MemoryDemand demand_;
  /// The counts of the device while the session was created.
  SessionMemory unplanned_;
  std::unique_ptr<Device> device_; // Outlives all of its memory.
  VariableStore variables_;
  SharedArena arena_;
  MemoryBlock workspace_;
  std::map<std::string, std::unique_ptr<EntryRunner>, std::less<>> runners_;
  bool has_compared_programs_ = false;
};

/// One call of a session: reserves it and its threads.
class Session::Call {
public:
  explicit Call(Impl &impl) : impl_(impl), status_(impl.Acquire()) {
    if (status_.ok())
      threads_.emplace(&impl.team());
  }
  ~Call() {
    if (status_.ok())
      impl_.Release();
  }
  const absl::Status &status() const { return status_; }

private:
  Impl &impl_;
  absl::Status status_;
  absl::optional<TeamScope> threads_;
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

absl::StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Executable> executable,
                                                         const SessionOptions &options) {
  return Create(std::move(executable), options, nullptr);
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Executable> executable,
                                                         DeviceStart start) {
  return Create(std::move(executable), start.options(), &start);
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Executable> executable,
                                                         const SessionOptions &options, DeviceStart *start) {
  if (options.memory_limit_bytes < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("memory_limit_bytes is ", options.memory_limit_bytes, ", must not be negative"));
  CS336_ASSIGN_OR_RETURN(DeviceId id, ParseDevice(options.device));
  if (!options.use_graphs && id.kind == DeviceKind::kCpu)
    return absl::InvalidArgumentError("use_graphs is false, which has no effect on the CPU: leave it out, or run on a "
                                      "GPU");
  if (options.exchange != GpuExchange::kAuto && id.kind == DeviceKind::kCpu)
    return absl::InvalidArgumentError(absl::StrCat("exchange is ", ToString(options.exchange),
                                                   ", which has no effect on the CPU: leave it out, or run on a GPU"));
  CS336_RETURN_IF_ERROR(CheckTarget(*executable, id));
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<ThreadTeam> team, ThreadTeam::Create(options.num_threads));
  TeamScope threads(team.get());
  CS336_RETURN_IF_ERROR(CheckRanks(*executable, options));
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, start ? start->Take() : CreateDevice(id, options));
  auto impl = std::make_unique<Impl>(std::move(executable), options, std::move(team), std::move(device));
  CS336_RETURN_IF_ERROR(impl->Allocate());
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const Executable &Session::executable() const { return impl_->executable(); }
DeviceId Session::device() const { return impl_->device().id(); }
int Session::num_threads() const { return impl_->team().size(); }
int64_t Session::allocated_bytes() const { return impl_->allocated_bytes(); }

absl::StatusOr<SessionMemory> Session::Memory() const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  SessionMemory memory = impl_->unplanned();
  memory.allocated = allocated_bytes();
  memory.workspace = impl_->workspace_bytes();
  CS336_ASSIGN_OR_RETURN(memory.used, impl_->device().memory().UsedBytes());
  CS336_ASSIGN_OR_RETURN(memory.available, impl_->device().memory().AvailableBytes());
  return memory;
}

absl::Status Session::InitializeVariables(uint64_t seed, const TensorMap &given) {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  CS336_RETURN_IF_ERROR(impl_->variables().Initialize(seed, given));
  return impl_->PrepareIfSet();
}

absl::Status Session::SetVariable(absl::string_view name, const TensorView &value, Placement placement) {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  return impl_->variables().Set(name, value, placement);
}

absl::StatusOr<Tensor> Session::GetVariable(absl::string_view name) const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  if (impl_->variables().IsSharded(name))
    CS336_RETURN_IF_ERROR(impl_->ComparePrograms());
  return impl_->AfterOutcome(impl_->variables().Get(name));
}

absl::StatusOr<double> Session::SumOfSquares(absl::string_view name) const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  if (impl_->variables().IsSharded(name))
    CS336_RETURN_IF_ERROR(impl_->ComparePrograms());
  return impl_->AfterOutcome(impl_->variables().SumOfSquares(name));
}

absl::StatusOr<MutableTensorView> Session::VariableOnDevice(absl::string_view name) const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  return impl_->variables().Share(name);
}

absl::Status Session::LoadVariables(const TensorMap &tensors, const LoadOptions &options) {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  CS336_RETURN_IF_ERROR(impl_->variables().Load(tensors, options));
  return impl_->PrepareIfSet();
}

absl::StatusOr<TensorMap> Session::SaveVariables(VariableSet set) const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  if (impl_->variables().IsSharded(set))
    CS336_RETURN_IF_ERROR(impl_->ComparePrograms());
  return impl_->AfterOutcome(impl_->variables().Save(set));
}

absl::Status Session::Prepare() {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  impl_->variables().AcceptShared();
  if (const format::EntryT *prepare = impl_->executable().FindEntry(kPrepareEntry))
    CS336_RETURN_IF_ERROR(impl_->variables().CheckIsSet(*prepare));
  return impl_->Prepare();
}

absl::Status Session::Run(absl::string_view entry, absl::Span<const NamedTensor> inputs, RunObserver *observer) {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  return impl_->Run(entry, inputs, observer);
}

absl::Status Session::StartTools() {
  CS336_RETURN_IF_ERROR(Synchronize());
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  return impl_->device().StartTools();
}

absl::Status Session::StopTools() {
  CS336_RETURN_IF_ERROR(Synchronize());
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  return impl_->device().StopTools();
}

absl::Status Session::GateRuns(absl::Duration limit) {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  if (limit < absl::ZeroDuration() || limit > kMaxGateLimit)
    return absl::InvalidArgumentError(absl::StrCat("the limit of gated runs is ", absl::FormatDuration(limit),
                                                   ", must be from 0 to ", absl::FormatDuration(kMaxGateLimit)));
  impl_->device().GateRuns(limit);
  return absl::OkStatus();
}

absl::Status Session::Synchronize() {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  return impl_->AfterOutcome(impl_->device().Synchronize());
}

absl::StatusOr<TensorView> Session::Output(absl::string_view entry, absl::string_view name) const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  CS336_ASSIGN_OR_RETURN(EntryRunner * runner, impl_->FindRunner(entry));
  return impl_->AfterOutcome(runner->Output(name));
}

absl::StatusOr<TensorView> Session::PreviousOutput(absl::string_view entry, absl::string_view name) const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  CS336_ASSIGN_OR_RETURN(EntryRunner * runner, impl_->FindRunner(entry));
  return impl_->AfterOutcome(runner->PreviousOutput(name));
}

absl::StatusOr<TensorView> Session::OutputOnDevice(absl::string_view entry, absl::string_view name) const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  CS336_ASSIGN_OR_RETURN(EntryRunner * runner, impl_->FindRunner(entry));
  return runner->OutputOnDevice(name);
}

absl::StatusOr<absl::Duration> Session::LastRunDuration(absl::string_view entry) const {
  Call call(*impl_);
  CS336_RETURN_IF_ERROR(call.status());
  CS336_ASSIGN_OR_RETURN(EntryRunner * runner, impl_->FindRunner(entry));
  return impl_->AfterOutcome(runner->LastRunDuration());
}

} // namespace cs336::runtime
