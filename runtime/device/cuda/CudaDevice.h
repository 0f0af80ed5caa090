//===- CudaDevice.h - A GPU as a device -------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/Device.h"
#include "cs336/runtime/GpuExchange.h"
#include "device/cuda/CublasLtGemm.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/CudaEvent.h"
#include "device/cuda/CudaKernels.h"
#include "device/cuda/CudaMemory.h"
#include "device/cuda/NcclGroup.h"
#include "device/cuda/PeerGroup.h"
#include "device/cuda/PtxKernel.h"

#include "absl/time/time.h"
#include "absl/types/optional.h"

#include <cstdint>
#include <map>
#include <memory>

namespace cs336::runtime {

/// Runs each stream of an executable in a CUDA stream. Each entry is one CUDA
/// graph, or a list of commands. Ranks exchange data through NCCL, or through each other's memory.
class CudaDevice : public Device {
public:
  /// Creates a device. `use_graphs` and `exchange` are those of SessionOptions. With a communicator of several ranks,
  /// each rank has a GPU of its own. All ranks load kernels and prepare collectives together, which connects the GPUs.
  static absl::StatusOr<std::unique_ptr<CudaDevice>>
  Create(int ordinal, const std::shared_ptr<Communicator> &communicator, bool use_graphs, GpuExchange exchange);

  ~CudaDevice() override;

  DeviceId id() const override { return {DeviceKind::kCuda, context_->ordinal()}; }
  std::string Description() const override { return context_->Description(); }
  DeviceMemory &memory() override { return *memory_; }

  /// Loads cuBLASLt.
  void WarmUp() override;
  /// With several ranks, compares their programs first.
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

  /// Returns 0: the memory plan contains the workspaces of commands.
  int64_t workspace_bytes() const override { return 0; }
  void SetWorkspace(void *workspace) override {}

  absl::StatusOr<std::unique_ptr<PreparedCommand>>
  PrepareSequence(absl::Span<const std::unique_ptr<PreparedCommand>> commands, absl::Span<const CommandInfo> infos,
                  DeviceMark &begin, DeviceMark &end) override;
  absl::StatusOr<std::unique_ptr<InputFeed>> PrepareInputs(char *inputs, int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<DeviceMark>> CreateMark() override;
  absl::Status EnqueueCopyToHost(void *staging, const void *src, int64_t bytes) override;
  absl::Status Synchronize() override;
  absl::Status StartTools() override;
  absl::Status StopTools() override;
  void GateRuns(absl::Duration limit) override { gate_limit_ = limit; }
  absl::Status BeginRun() override;
  void EndRun() override;

private:
  absl::StatusOr<std::unique_ptr<CublasLt>> CreateCublasLt() const;
  absl::StatusOr<CudaEvent *> FindEvent(uint32_t number);
  absl::Status ConnectPeers();
  CudaDevice(bool use_graphs, GpuExchange exchange) : use_graphs_(use_graphs), exchange_(exchange) {}

  bool use_graphs_;
  GpuExchange exchange_;
  std::unique_ptr<CudaContext> context_; // Outlives all other members.
  std::unique_ptr<NcclGroup> group_;     // Null for one rank. Outlives the memory.
  std::unique_ptr<CudaMemory> memory_;
  std::unique_ptr<PeerGroup> peers_;          // Null unless the GPUs of all ranks access each other's memory.
  std::unique_ptr<Communicator> single_rank_; // Collectives of programs for one rank.
  std::map<uint32_t, CudaEvent> events_;      // By number in the entries, which run one after the other.
  CudaKernels kernels_;
  std::unique_ptr<PtxKernel> fill_kernel_; // Null without graphs.
  std::unique_ptr<CublasLt> cublaslt_;     // Loaded for the first GEMM.
  absl::optional<CurrentContext> run_;
  absl::Duration gate_limit_; // 0 unless runs are gated.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
