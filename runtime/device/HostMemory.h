//===- HostMemory.h - The host's memory as a device's -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_HOSTMEMORY_H
#define CS336_RUNTIME_DEVICE_HOSTMEMORY_H

#include "cs336/runtime/DeviceMemory.h"

namespace cs336::runtime {

class HostMemory : public DeviceMemory {
public:
  std::string Name() const override { return "host memory"; }
  bool is_host() const override { return true; }
  absl::StatusOr<int64_t> AvailableBytes() const override;
  absl::StatusOr<int64_t> UsedBytes() const override { return used_; }
  int64_t BytesBefore() const override { return 0; }
  absl::StatusOr<MemoryBlock> Allocate(int64_t bytes, int64_t alignment) override;
  absl::StatusOr<MemoryBlock> AllocateStaging(int64_t bytes) override;
  absl::StatusOr<MemoryBlock> Pin(void *data, int64_t bytes) override;
  absl::Status Fill(void *dst, uint8_t byte, int64_t bytes) override;
  absl::Status CopyFromHost(void *dst, const void *src, int64_t bytes) override;
  absl::Status CopyToHost(void *dst, const void *src, int64_t bytes) override;
  absl::Status CopyFromOthers(void *dst, const void *src, int64_t bytes) override;
  absl::Status Write(void *dst, int64_t bytes, Producer produce) override;

private:
  int64_t used_ = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_HOSTMEMORY_H
