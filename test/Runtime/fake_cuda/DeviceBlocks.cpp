//===- DeviceBlocks.cpp - The memory of fake GPUs -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/DeviceBlocks.h"

#include "fake_cuda/FakeCuda.h"

#include <cstdlib>
#include <iterator>

namespace cs336::runtime::testing {

bool IsReached(CUdeviceptr address) {
  if (address >= kDeviceSpace)
    return true;
  auto next = TheFakeCuda().pinned.upper_bound(reinterpret_cast<void *>(address));
  if (next == TheFakeCuda().pinned.begin())
    return false;
  auto [start, bytes] = *std::prev(next);
  return address < reinterpret_cast<CUdeviceptr>(start) + bytes;
}

char *ToHostUnified(CUdeviceptr address) {
  if (!IsReached(address))
    TheFakeCuda().faulted = true;
  return address < kDeviceSpace ? reinterpret_cast<char *>(address) : ToHost(address);
}

DeviceBlocks &DeviceBlocks::Get() {
  static DeviceBlocks blocks;
  return blocks;
}

CUdeviceptr DeviceBlocks::Allocate(size_t bytes) {
  constexpr size_t kAlignment = 256;
  size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  auto *block = static_cast<char *>(std::aligned_alloc(kAlignment, rounded));
  std::lock_guard<std::mutex> lock(mutex_);
  blocks_[block] = bytes;
  return ToDevice(block);
}

size_t DeviceBlocks::Free(CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = blocks_.find(ToHost(address));
  size_t bytes = found->second;
  std::free(found->first);
  blocks_.erase(found);
  return bytes;
}

CUdeviceptr DeviceBlocks::FindStart(CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto next = blocks_.upper_bound(ToHost(address));
  if (next == blocks_.begin() || ToHost(address) > std::prev(next)->first + std::prev(next)->second)
    return 0;
  return ToDevice(std::prev(next)->first);
}

GlobalMemory DeviceBlocks::Reached() {
  GlobalMemory memory;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto [block, bytes] : blocks_)
    memory.Add(ToDevice(block), block, bytes);
  for (auto [start, bytes] : TheFakeCuda().pinned)
    memory.Add(reinterpret_cast<CUdeviceptr>(start), start, bytes);
  for (auto [start, bytes] : TheFakeCuda().lent)
    memory.Add(ToDevice(start), start, bytes);
  return memory;
}

} // namespace cs336::runtime::testing
