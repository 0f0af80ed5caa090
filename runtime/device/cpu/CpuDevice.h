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
#include "device/cpu/GemmLibraries.h"
#include "device/cpu/KernelImage.h"
#include "device/cpu/Parallel.h"

#include "absl/types/optional.h"

#include <memory>
#include <vector>

namespace cs336::runtime {

/// Runs every stream in the order of commands, each command on the threads of
/// one OpenMP team.
class CpuDevice : public Device {
public:
  /// `num_threads` of 0 takes OpenMP's default.
  CpuDevice(int num_threads, std::shared_ptr<Communicator> communicator);

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

  int64_t workspace_bytes() const override { return workspace_.bytes(); }
  void SetWorkspace(void *workspace) override { workspace_.SetData(workspace); }

  void BeginRun() override { run_threads_.emplace(num_threads_); }
  absl::Status EndRun() override {
    run_threads_.reset();
    return absl::OkStatus();
  }

private:
  int num_threads_;
  std::shared_ptr<Communicator> communicator_;
  std::vector<KernelImage> images_;
  std::vector<KernelFunction> kernels_; // As the executable numbers them.
  Workspace workspace_;
  absl::optional<ThreadCountScope> run_threads_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_CPUDEVICE_H
