//===- CpuDevice.cpp - The host as a device -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/CpuDevice.h"

#include "device/CollectiveCommand.h"
#include "device/cpu/CheckBoundCommand.h"
#include "parallel/Parallel.h"
#include "status/StatusMacros.h"
#include "tensor/Elements.h"
#include "tensor/StridedCopy.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <utility>

namespace cs336::runtime {

namespace {

class CpuLaunchCommand : public PreparedCommand {
public:
  CpuLaunchCommand(KernelFunction kernel, std::vector<void *> operands, int64_t rows, int64_t grain)
      : kernel_(kernel), operands_(std::move(operands)), rows_(rows), grain_(grain) {}

  absl::Status Execute() override {
    ParallelFor(rows_, grain_, [this](int64_t begin, int64_t end) { kernel_(operands_.data(), begin, end); });
    return absl::OkStatus();
  }

private:
  KernelFunction kernel_;
  std::vector<void *> operands_;
  int64_t rows_, grain_;
};

/// A kernel that needs memory for each thread.
class LaunchWithMemory : public PreparedCommand {
public:
  LaunchWithMemory(KernelFunction kernel, std::vector<void *> operands, const format::LaunchT &launch,
                   Workspace &workspace)
      : kernel_(kernel), rows_(launch.rows), thread_bytes_(launch.thread_bytes), workspace_(workspace) {
    operands.push_back(nullptr);
    operands_.assign(CountChunks(launch.rows, launch.grain), operands);
    workspace.Reserve(chunks() * thread_bytes_);
  }

  absl::Status Execute() override {
    ParallelFor(chunks(), /*grain=*/1, [this](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk != end; ++chunk) {
        operands_[chunk].back() = static_cast<char *>(workspace_.data()) + chunk * thread_bytes_;
        kernel_(operands_[chunk].data(), ChunkBegin(rows_, chunks(), chunk), ChunkBegin(rows_, chunks(), chunk + 1));
      }
    });
    return absl::OkStatus();
  }

private:
  int64_t chunks() const { return operands_.size(); }

  KernelFunction kernel_;
  std::vector<std::vector<void *>> operands_; // Operands per range of rows.
  int64_t rows_, thread_bytes_;
  Workspace &workspace_;
};

class CpuCopyCommand : public PreparedCommand {
public:
  CpuCopyCommand(const MutableTensorView &src, const MutableTensorView &dst)
      : copy_(src.shape(), src.strides(), dst.strides(), ByteSize(src.dtype())), src_(src.data()),
        dst_(dst.mutable_data()) {}

  absl::Status Execute() override {
    constexpr int64_t kGrainBytes = 1 << 16;
    int64_t grain = kGrainBytes / copy_.bytes_per_run() + 1;
    ParallelFor(copy_.runs(), grain, [this](int64_t begin, int64_t end) { copy_.Run(src_, dst_, begin, end); });
    return absl::OkStatus();
  }

private:
  StridedCopy copy_;
  const void *src_;
  void *dst_;
};

class SequenceCommand : public PreparedCommand {
public:
  SequenceCommand(absl::Span<const std::unique_ptr<PreparedCommand>> commands, DeviceMark &begin, DeviceMark &end)
      : commands_(commands), begin_(begin), end_(end) {}

  absl::Status Execute() override {
    CS336_RETURN_IF_ERROR(begin_.Record());
    for (const auto &command : commands_)
      CS336_RETURN_IF_ERROR(command->Execute());
    return end_.Record();
  }

private:
  absl::Span<const std::unique_ptr<PreparedCommand>> commands_;
  DeviceMark &begin_, &end_;
};

/// A GEMM that accumulates into a copy of its addend.
class AddingGemm : public PreparedCommand {
public:
  AddingGemm(std::unique_ptr<PreparedCommand> copy, std::unique_ptr<PreparedCommand> plain)
      : copy_(std::move(copy)), plain_(std::move(plain)) {}

  absl::Status Execute() override {
    CS336_RETURN_IF_ERROR(copy_->Execute());
    return plain_->Execute();
  }

private:
  std::unique_ptr<PreparedCommand> copy_, plain_;
};

/// ReLU of a GEMM's result. The libraries' own ReLU turns NaN into 0. ReLU of a
/// rounded sum equals the rounded ReLU of the sum.
class RectifiedGemm : public PreparedCommand {
public:
  RectifiedGemm(const GemmProblem &problem, std::unique_ptr<PreparedCommand> plain)
      : problem_(problem), plain_(std::move(plain)) {}

  absl::Status Execute() override {
    CS336_RETURN_IF_ERROR(plain_->Execute());
    VisitElement(problem_.c.dtype, [this](auto tag) {
      using T = typename decltype(tag)::Type;
      if constexpr (kIsFloatElement<T>)
        Rectify<T>();
    });
    return absl::OkStatus();
  }

private:
  template <typename T>
  void Rectify() {
    constexpr int64_t kGrainElements = 1 << 14;
    const GemmMatrix &c = problem_.c;
    ParallelFor(problem_.batch_size() * c.rows, kGrainElements / c.columns + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row != end; ++row) {
        T *start = reinterpret_cast<T *>(problem_.BatchData(c, row / c.rows)) + row % c.rows * c.row_stride;
        for (int64_t i = 0; i != c.columns; ++i)
          start[i] = start[i] <= T(0) ? T(0) : start[i];
      }
    });
  }

  GemmProblem problem_;
  std::unique_ptr<PreparedCommand> plain_;
};

/// Inputs on the host: the caller writes them where commands read them.
class DirectFeed : public InputFeed {
public:
  explicit DirectFeed(char *inputs) : inputs_(inputs) {}
  absl::StatusOr<char *> Begin() override { return inputs_; }
  absl::Status Fetch(int64_t offset, const void *src, int64_t bytes) override {
    ParallelCopy(inputs_ + offset, src, bytes);
    return absl::OkStatus();
  }
  absl::Status TakeFromDevice(int64_t offset, const void *src, int64_t bytes) override {
    return Fetch(offset, src, bytes);
  }
  absl::Status Send() override { return absl::OkStatus(); }

private:
  char *inputs_;
};

class ClockMark : public DeviceMark {
public:
  absl::Status Record() override {
    time_ = absl::Now();
    return absl::OkStatus();
  }
  absl::Status Wait() override { return absl::OkStatus(); }
  absl::StatusOr<absl::Duration> Since(const DeviceMark &start) const override {
    return time_ - static_cast<const ClockMark &>(start).time_;
  }

private:
  absl::Time time_;
};

/// Streams run in the order of commands, which verification has shown to
/// respect their events. Waiting therefore does nothing.
class EventCommand : public PreparedCommand {
public:
  absl::Status Execute() override { return absl::OkStatus(); }
};

} // namespace

CpuDevice::CpuDevice(std::shared_ptr<Communicator> communicator)
    : communicator_(communicator ? std::move(communicator) : CreateSingleProcessCommunicator()) {}

absl::Status CpuDevice::LoadKernels(const Executable &executable) {
  CS336_ASSIGN_OR_RETURN(CpuFeatures features, CpuFeatures::Host());
  for (const auto &object : executable.description().objects) {
    CS336_ASSIGN_OR_RETURN(KernelImage image, KernelImage::Load(*object, features));
    images_.push_back(std::move(image));
  }
  for (const auto &kernel : executable.description().kernels) {
    const format::ImplementationT &implementation = *kernel->implementations.front();
    absl::StatusOr<KernelFunction> function =
        images_[implementation.objects.front()].Find(implementation.functions.front()->symbol);
    if (!function.ok())
      return Annotate(function.status(), absl::StrCat("kernel '", kernel->name, "'"));
    kernels_.push_back(*function);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CpuDevice::PrepareLaunch(const CommandContext &context,
                                                                          const format::LaunchT &launch) {
  std::vector<void *> operands;
  for (uint32_t operand : launch.operands)
    operands.push_back(context.buffers[operand].mutable_data());
  if (launch.thread_bytes != 0)
    return std::make_unique<LaunchWithMemory>(kernels_[launch.kernel], std::move(operands), launch, workspace_);
  return std::make_unique<CpuLaunchCommand>(kernels_[launch.kernel], std::move(operands), launch.rows, launch.grain);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CpuDevice::PrepareGemm(const CommandContext &context,
                                                                        const format::GemmT &gemm) {
  GemmProblem problem = BindGemm(context, gemm);
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<PreparedCommand> command, PreparePlainGemm(problem));
  // The libraries accumulate into the output.
  if (problem.has_addend())
    command = std::make_unique<AddingGemm>(
        std::make_unique<CpuCopyCommand>(context.buffers[*gemm.addend], context.buffers[gemm.c]), std::move(command));
  if (problem.relu)
    command = std::make_unique<RectifiedGemm>(problem, std::move(command));
  return command;
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CpuDevice::PreparePlainGemm(const GemmProblem &problem) {
  if (problem.a.dtype == DType::kF64 && problem.c.dtype == DType::kF64)
    return PrepareEigenGemm(problem);
  absl::StatusOr<std::unique_ptr<PreparedCommand>> command = PrepareOneDnnGemm(problem, workspace_);
  // oneDNN has no f16 here, and bf16 on some processors only.
  bool is_narrow = problem.a.dtype == DType::kF16 || problem.a.dtype == DType::kBF16;
  if (is_narrow && absl::IsUnimplemented(command.status()))
    return PrepareNarrowGemm(problem);
  return command;
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CpuDevice::PrepareCopy(const CommandContext &context,
                                                                        const format::CopyT &copy) {
  return std::make_unique<CpuCopyCommand>(context.buffers[copy.src], context.buffers[copy.dst]);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CpuDevice::PrepareCollective(const CommandContext &context,
                                                                              const format::CollectiveT &collective) {
  return runtime::PrepareCollective(*communicator_, context, collective);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CpuDevice::PrepareRecord(const CommandContext &context,
                                                                          const format::RecordT &record) {
  return std::make_unique<EventCommand>();
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CpuDevice::PrepareWait(const CommandContext &context,
                                                                        const format::WaitT &wait) {
  return std::make_unique<EventCommand>();
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> CpuDevice::PrepareCheckBound(const CommandContext &context,
                                                                              const format::CheckBoundT &check) {
  return PrepareHostCheckBound(context, check);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>>
CpuDevice::PrepareSequence(absl::Span<const std::unique_ptr<PreparedCommand>> commands,
                           absl::Span<const CommandInfo> infos, DeviceMark &begin, DeviceMark &end) {
  return std::make_unique<SequenceCommand>(commands, begin, end);
}

absl::StatusOr<std::unique_ptr<InputFeed>> CpuDevice::PrepareInputs(char *inputs, int64_t bytes) {
  return std::make_unique<DirectFeed>(inputs);
}

absl::StatusOr<std::unique_ptr<DeviceMark>> CpuDevice::CreateMark() { return std::make_unique<ClockMark>(); }

} // namespace cs336::runtime
