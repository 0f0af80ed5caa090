//===- CudaMemory.h - Memory of a GPU ---------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H

#include "cs336/runtime/DeviceMemory.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/CudaEvent.h"

#include <array>
#include <memory>

namespace cs336::runtime {

/// Memory of a GPU, and pinned memory of the host. All operations are enqueued
/// in the context's stream and waited for. They also return errors of earlier
/// commands.
class CudaMemory : public DeviceMemory {
public:
  /// The context must outlive the memory.
  static absl::StatusOr<std::unique_ptr<CudaMemory>> Create(const CudaContext &context);

  std::string Name() const override;
  bool is_host() const override { return false; }
  absl::StatusOr<int64_t> AvailableBytes() const override;
  absl::StatusOr<int64_t> UsedBytes() const override;
  int64_t BytesBefore() const override { return used_before_; }
  absl::StatusOr<MemoryBlock> Allocate(int64_t bytes, int64_t alignment) override;
  absl::StatusOr<MemoryBlock> AllocateStaging(int64_t bytes) override;
  absl::StatusOr<MemoryBlock> Pin(void *data, int64_t bytes) override;
  absl::Status Fill(void *dst, uint8_t byte, int64_t bytes) override;
  absl::Status CopyFromHost(void *dst, const void *src, int64_t bytes) override;
  absl::Status CopyToHost(void *dst, const void *src, int64_t bytes) override;
  absl::Status CopyFromOthers(void *dst, const void *src, int64_t bytes) override;
  absl::Status Write(void *dst, int64_t bytes, Producer produce) override;

private:
  /// Two buffers: one is filled while the other is copied.
  struct Staging {
    MemoryBlock block;
    CudaEvent copied;
  };

  explicit CudaMemory(const CudaContext &context) : context_(context) {}
  absl::Status PrepareStaging();
  /// Sets the numbers of unused bytes and of all bytes.
  absl::Status Count(size_t &free, size_t &total) const;

  const CudaContext &context_;
  int64_t available_at_start_ = 0, used_before_ = 0;
  std::array<Staging, 2> staging_; // Allocated at first use.
};

/// Converts an address to the type of the driver's calls.
inline CUdeviceptr ToDevicePointer(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H
