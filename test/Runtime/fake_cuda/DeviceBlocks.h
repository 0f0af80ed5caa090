//===- DeviceBlocks.h - The memory of fake GPUs -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_DEVICEBLOCKS_H
#define CS336_TEST_RUNTIME_DEVICEBLOCKS_H

#include "fake_cuda/GlobalMemory.h"

#include <cstdint>
#include <cuda.h>
#include <map>
#include <mutex>

namespace cs336::runtime::testing {

/// Addresses of memory of the host as the device's own memory, far from anything that the host could read.
constexpr CUdeviceptr kDeviceSpace = CUdeviceptr{1} << 60;
inline CUdeviceptr ToDevice(const void *host) { return reinterpret_cast<CUdeviceptr>(host) + kDeviceSpace; }
inline char *ToHost(CUdeviceptr device) { return reinterpret_cast<char *>(device - kDeviceSpace); }

/// Returns the host's address of memory that the device reaches: its own memory, or pinned memory, which share one
/// address space. Otherwise the device has a fault.
char *ToHostUnified(CUdeviceptr address);
bool IsReached(CUdeviceptr address);

/// The blocks of memory that the driver has allocated.
class DeviceBlocks {
public:
  static DeviceBlocks &Get();

  CUdeviceptr Allocate(size_t bytes);
  /// Returns the size of the block.
  size_t Free(CUdeviceptr address);
  /// Returns the start of the block that contains the address, or 0.
  CUdeviceptr FindStart(CUdeviceptr address);

  /// Returns all memory that kernels may access: the blocks, pinned memory, and memory that tests lend.
  GlobalMemory Reached();

private:
  std::mutex mutex_;
  std::map<char *, size_t> blocks_; // Sizes by address of the host.
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_DEVICEBLOCKS_H
