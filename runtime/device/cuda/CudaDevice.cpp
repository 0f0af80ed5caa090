//===- CudaDevice.cpp - A GPU as a device ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaDevice.h"

#include "comm/SingleRank.h"
#include "device/CollectiveCommand.h"
#include "device/cuda/CheckBoundCommand.h"
#include "device/cuda/CommandList.h"
#include "device/cuda/CudaEvent.h"
#include "device/cuda/CudaGraph.h"
#include "device/cuda/CudaInputFeed.h"
#include "device/cuda/CudaLaunch.h"
#include "device/cuda/LaunchGate.h"
#include "device/cuda/NcclCollective.h"
#include "device/cuda/PeerCollective.h"
#include "device/cuda/StreamSequence.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

class CudaCopyCommand : public PreparedCommand {
public:
  CudaCopyCommand(const CudaContext &context, const MutableTensorView &src, const MutableTensorView &dst)
      : context_(context), src_(ToDevicePointer(src.data())), dst_(ToDevicePointer(dst.data())),
        bytes_(src.num_bytes()) {}

  absl::Status Execute() override { return context_.driver().MemcpyAsync(dst_, src_, bytes_, context_.stream()); }

private:
  const CudaContext &context_;
  CUdeviceptr src_, dst_;
  int64_t bytes_;
};

class RecordCommand : public PreparedCommand {
public:
  RecordCommand(const CudaContext &context, CudaEvent &event) : context_(context), event_(event) {}
  absl::Status Execute() override { return event_.Record(context_.stream()); }

private:
  const CudaContext &context_;
  CudaEvent &event_;
};

class WaitCommand : public PreparedCommand {
public:
  WaitCommand(const CudaContext &context, const CudaEvent &event) : context_(context), event_(event) {}
  absl::Status Execute() override { return event_.Block(context_.stream()); }

private:
  const CudaContext &context_;
  const CudaEvent &event_;
};

/// A run that the device may begin only when all of it is enqueued.
class GatedSequence : public PreparedCommand {
public:
  /// The references must stay valid. `limit` is read by each execution; 0 stands for no gate.
  GatedSequence(const CudaContext &context, const absl::Duration &limit, std::unique_ptr<PreparedCommand> run)
      : context_(context), limit_(limit), run_(std::move(run)) {}

  absl::Status Execute() override {
    if (limit_ == absl::ZeroDuration())
      return run_->Execute();
    CS336_ASSIGN_OR_RETURN(LaunchGate gate, LaunchGate::Close(context_, limit_));
    return run_->Execute();
  }

private:
  const CudaContext &context_;
  const absl::Duration &limit_;
  std::unique_ptr<PreparedCommand> run_;
};

/// A run of one rank, whose collectives are expected to end.
class RankSequence : public PreparedCommand {
public:
  RankSequence(NcclGroup &group, absl::Span<const CommandInfo> infos, std::unique_ptr<PreparedCommand> run)
      : group_(group), run_(std::move(run)) {
    std::vector<std::string> names;
    for (const CommandInfo &info : infos)
      if (info.kind == "collective")
        names.push_back(absl::StrCat(info.name, "' of entry '", info.entry));
    names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
  }

  absl::Status Execute() override {
    CS336_RETURN_IF_ERROR(group_.Failure());
    group_.Expect(names_);
    return run_->Execute();
  }

private:
  NcclGroup &group_;
  CollectiveProgress::Names names_; // Shared with a thread that outlives the run.
  std::unique_ptr<PreparedCommand> run_;
};

class EventMark : public DeviceMark {
public:
  EventMark(const CudaContext &context, CudaEvent event) : context_(context), event_(std::move(event)) {}
  absl::Status Record() override { return event_.Record(context_.stream()); }
  absl::Status Wait() override { return event_.Synchronize(); }
  absl::StatusOr<absl::Duration> Since(const DeviceMark &start) const override {
    return event_.Since(static_cast<const EventMark &>(start).event_);
  }
  CudaEvent &event() { return event_; }

private:
  const CudaContext &context_;
  CudaEvent event_;
};

} // namespace

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Create(int ordinal,
                                                               const std::shared_ptr<Communicator> &communicator,
                                                               bool use_graphs, GpuExchange exchange) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(use_graphs, exchange));
  CS336_ASSIGN_OR_RETURN(device->context_, CudaContext::Create(ordinal));
  if (communicator && communicator->size() != 1) {
    device->group_ = std::make_unique<NcclGroup>(*device->context_, communicator);
    device->context_->SetMonitor(device->group_.get());
  }
  CS336_ASSIGN_OR_RETURN(device->memory_, CudaMemory::Create(*device->context_));
  if (device->group_)
    CS336_RETURN_IF_ERROR(device->group_->CountCollectives(*device->memory_));
  const CudaContext &context = *device->context_;
  device->single_rank_ = CreateSingleRankCommunicator([&context](void *dst, const void *src, int64_t bytes) {
    return context.driver().MemcpyAsync(ToDevicePointer(dst), ToDevicePointer(src), bytes, context.stream());
  });
  return device;
}

CudaDevice::~CudaDevice() {
  if (group_)
    group_->StopCounting();
  if (context_)
    context_->SetMonitor(nullptr);
}

absl::StatusOr<std::unique_ptr<CublasLt>> CudaDevice::CreateCublasLt() const { return CublasLt::Create(*context_); }

void CudaDevice::WarmUp() {
  if (auto library = CreateCublasLt(); library.ok())
    cublaslt_ = *std::move(library);
}

absl::Status CudaDevice::ConnectPeers() {
  absl::StatusOr<std::unique_ptr<PeerGroup>> peers =
      PeerGroup::Connect(*context_, group_->ranks(), *memory_, group_->abandoned());
  // All ranks get the same code.
  if (exchange_ == GpuExchange::kAuto && absl::IsFailedPrecondition(peers.status()))
    return absl::OkStatus();
  CS336_RETURN_IF_ERROR(peers.status());
  peers_ = *std::move(peers);
  return absl::OkStatus();
}

absl::Status CudaDevice::LoadKernels(const Executable &executable) {
  // Ranks prepare collectives together, so their programs must be equal.
  if (group_)
    CS336_RETURN_IF_ERROR(group_->ranks().CompareProgram(executable.description().program_hash));
  if (group_ && exchange_ != GpuExchange::kNccl)
    CS336_RETURN_IF_ERROR(ConnectPeers());
  CS336_ASSIGN_OR_RETURN(kernels_, CudaKernels::Load(executable, *context_));
  if (use_graphs_) {
    CS336_ASSIGN_OR_RETURN(fill_kernel_, LoadFillKernel(*context_));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CudaDevice::PrepareLaunch(const CommandContext &context,
                                                                           const format::LaunchT &launch) {
  const CudaKernel &kernel = kernels_.kernel(launch.kernel);
  std::vector<void *> operands;
  for (uint32_t operand : launch.operands)
    operands.push_back(context.buffers[operand].mutable_data());
  if (kernel.uses_workspace)
    operands.push_back(context.buffers[*launch.workspace].mutable_data());
  return PrepareCudaLaunch(*context_, kernel, operands);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CudaDevice::PrepareGemm(const CommandContext &context,
                                                                         const format::GemmT &gemm) {
  if (!cublaslt_) {
    CS336_ASSIGN_OR_RETURN(cublaslt_, CreateCublasLt());
  }
  void *workspace = nullptr;
  int64_t workspace_bytes = 0;
  if (gemm.workspace) {
    workspace = context.buffers[*gemm.workspace].mutable_data();
    workspace_bytes = context.buffers[*gemm.workspace].num_bytes();
  }
  return PrepareCublasLtGemm(*cublaslt_, BindGemm(context, gemm), workspace, workspace_bytes);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CudaDevice::PrepareCopy(const CommandContext &context,
                                                                         const format::CopyT &copy) {
  const MutableTensorView &src = context.buffers[copy.src], &dst = context.buffers[copy.dst];
  if (!src.is_dense() || !dst.is_dense())
    return absl::UnimplementedError("a copy between strided layouts, for which a GPU needs a kernel: compile the "
                                    "program with --exec-copies-to-kernels");
  return std::make_unique<CudaCopyCommand>(*context_, src, dst);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CudaDevice::PrepareCollective(const CommandContext &context,
                                                                               const format::CollectiveT &collective) {
  if (peers_ && peers_->TakesStream(context.command.stream)) {
    CS336_ASSIGN_OR_RETURN(std::unique_ptr<PreparedCommand> command,
                           PreparePeerCollective(*group_, *peers_, context, collective, exchange_));
    if (command)
      return command;
  }
  if (group_) {
    CS336_RETURN_IF_ERROR(Annotate(
        group_->Connect(), absl::StrCat("with --exchange ", ToString(exchange_), ", this collective needs NCCL")));
    return PrepareNcclCollective(*context_, *group_, *memory_, context.buffers, collective);
  }
  return runtime::PrepareCollective(*single_rank_, context, collective);
}

absl::StatusOr<CudaEvent *> CudaDevice::FindEvent(uint32_t number) {
  auto found = events_.find(number);
  if (found == events_.end()) {
    CS336_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::Create(*context_));
    found = events_.emplace(number, std::move(event)).first;
  }
  return &found->second;
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CudaDevice::PrepareRecord(const CommandContext &context,
                                                                           const format::RecordT &record) {
  CS336_ASSIGN_OR_RETURN(CudaEvent * event, FindEvent(record.event));
  return std::make_unique<RecordCommand>(*context_, *event);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CudaDevice::PrepareWait(const CommandContext &context,
                                                                         const format::WaitT &wait) {
  CS336_ASSIGN_OR_RETURN(CudaEvent * event, FindEvent(wait.event));
  return std::make_unique<WaitCommand>(*context_, *event);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CudaDevice::PrepareCheckBound(const CommandContext &context,
                                                                               const format::CheckBoundT &check) {
  return PrepareCudaCheckBound(*context_, *memory_, context, check);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>>
CudaDevice::PrepareSequence(absl::Span<const std::unique_ptr<PreparedCommand>> commands,
                            absl::Span<const CommandInfo> infos, DeviceMark &begin, DeviceMark &end) {
  CS336_ASSIGN_OR_RETURN(StreamSequence sequence, StreamSequence::Create(*context_, commands, infos));
  CudaEvent &before = static_cast<EventMark &>(begin).event(), &after = static_cast<EventMark &>(end).event();
  std::unique_ptr<PreparedCommand> run;
  if (use_graphs_) {
    CS336_ASSIGN_OR_RETURN(run, CaptureGraph(*context_, *fill_kernel_, std::move(sequence), before, after));
  } else {
    run = std::make_unique<CommandList>(*context_, std::move(sequence), before, after);
  }
  // The run records its events itself, thus behind the gate.
  run = std::make_unique<GatedSequence>(*context_, gate_limit_, std::move(run));
  return group_ ? std::make_unique<RankSequence>(*group_, infos, std::move(run)) : std::move(run);
}

absl::StatusOr<std::unique_ptr<InputFeed>> CudaDevice::PrepareInputs(char *inputs, int64_t bytes) {
  return CreateCudaInputFeed(*context_, *memory_, inputs, bytes);
}

absl::StatusOr<std::unique_ptr<DeviceMark>> CudaDevice::CreateMark() {
  CS336_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::Create(*context_));
  return std::make_unique<EventMark>(*context_, std::move(event));
}

absl::Status CudaDevice::EnqueueCopyToHost(void *staging, const void *src, int64_t bytes) {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  return context_->driver().MemcpyDtoHAsync(staging, ToDevicePointer(src), bytes, context_->stream());
}

absl::Status CudaDevice::Synchronize() {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  return Annotate(context_->WaitForStream(), absl::StrCat("a command that was enqueued on ", Description(), " failed"));
}

absl::Status CudaDevice::StartTools() {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  return context_->driver().ProfilerStart();
}

absl::Status CudaDevice::StopTools() {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  return context_->driver().ProfilerStop();
}

absl::Status CudaDevice::BeginRun() {
  run_.emplace(*context_);
  return run_->status();
}

void CudaDevice::EndRun() { run_.reset(); }

} // namespace cs336::runtime
