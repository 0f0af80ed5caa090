//===- CpuDevice.h - The host as a device -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define CS336_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/Device.h"
#include "device/HostMemory.h"
#include "device/cpu/GemmLibraries.h"
#include "device/cpu/KernelImage.h"

#include <memory>
#include <vector>

namespace cs336::runtime {

/// Runs every stream in the order of commands. Each command uses the threads of
/// the calling thread's TeamScope, whose number must be the same when commands
/// are prepared and when they run.
class CpuDevice : public Device {
public:
  explicit CpuDevice(std::shared_ptr<Communicator> communicator);

  DeviceId id() const override { return {}; }
  std::string Description() const override { return "the CPU"; }
  DeviceMemory &memory() override { return memory_; }

  void WarmUp() override {}
  absl::Status LoadKernels(const Executable &executable) override;

  absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareLaunch(const CommandContext &context,
                                                                 const format::LaunchT &launch) override;
  absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareGemm(const CommandContext &context,
                                                               const format::GemmT &gemm) override;
  absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCopy(const CommandContext &context,
                                                               const format::CopyT &copy) override;
  absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCollective(const CommandContext &context,
                                                                     const format::CollectiveT &collective) override;
  absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareRecord(const CommandContext &context,
                                                                 const format::RecordT &record) override;
  absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareWait(const CommandContext &context,
                                                               const format::WaitT &wait) override;
  absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCheckBound(const CommandContext &context,
                                                                     const format::CheckBoundT &check) override;

  int64_t workspace_bytes() const override { return workspace_.bytes(); }
  void SetWorkspace(void *workspace) override { workspace_.SetData(workspace); }

  absl::StatusOr<std::unique_ptr<PreparedCommand>>
  PrepareSequence(absl::Span<const std::unique_ptr<PreparedCommand>> commands, absl::Span<const CommandInfo> infos,
                  DeviceMark &begin, DeviceMark &end) override;
  absl::StatusOr<std::unique_ptr<InputFeed>> PrepareInputs(char *inputs, int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<DeviceMark>> CreateMark() override;
  absl::Status EnqueueCopyToHost(void *staging, const void *src, int64_t bytes) override {
    return memory_.CopyToHost(staging, src, bytes);
  }
  /// Returns at once: commands are done when their calls return.
  absl::Status Synchronize() override { return absl::OkStatus(); }

  absl::Status BeginRun() override { return absl::OkStatus(); }
  void EndRun() override {}

private:
  /// Prepares a GEMM that accumulates into nothing or into its output.
  absl::StatusOr<std::unique_ptr<PreparedCommand>> PreparePlainGemm(const GemmProblem &problem);

  HostMemory memory_;
  std::shared_ptr<Communicator> communicator_;
  std::vector<KernelImage> images_;
  std::vector<KernelFunction> kernels_; // In the executable's order.
  Workspace workspace_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_CPUDEVICE_H
