//===- HostMemory.cpp - The host's memory as a device's -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/HostMemory.h"

#include "cs336/runtime/Storage.h"
#include "parallel/Parallel.h"
#include "status/StatusMacros.h"

#include <memory>

namespace cs336::runtime {

absl::StatusOr<int64_t> HostMemory::AvailableBytes() const { return AvailableHostMemory(); }

absl::StatusOr<MemoryBlock> HostMemory::Allocate(int64_t bytes, int64_t alignment) {
  CS336_ASSIGN_OR_RETURN(Storage storage, Storage::Allocate(bytes, alignment));
  auto owner = std::make_shared<Storage>(std::move(storage));
  used_ += bytes;
  return MemoryBlock(owner->data(), bytes, [this, owner] { used_ -= owner->size(); });
}

absl::StatusOr<MemoryBlock> HostMemory::AllocateStaging(int64_t bytes) { return Allocate(bytes, Storage::kAlignment); }

absl::StatusOr<MemoryBlock> HostMemory::Pin(void *data, int64_t bytes) {
  return MemoryBlock(data, bytes, /*release=*/nullptr);
}

absl::Status HostMemory::Fill(void *dst, uint8_t byte, int64_t bytes) {
  ParallelFill(dst, byte, bytes);
  return absl::OkStatus();
}

absl::Status HostMemory::CopyFromHost(void *dst, const void *src, int64_t bytes) {
  ParallelCopy(dst, src, bytes);
  return absl::OkStatus();
}

absl::Status HostMemory::CopyToHost(void *dst, const void *src, int64_t bytes) {
  ParallelCopy(dst, src, bytes);
  return absl::OkStatus();
}

absl::Status HostMemory::CopyFromOthers(void *dst, const void *src, int64_t bytes) {
  ParallelCopy(dst, src, bytes);
  return absl::OkStatus();
}

absl::Status HostMemory::Write(void *dst, int64_t bytes, Producer produce) {
  produce(dst, 0, bytes);
  return absl::OkStatus();
}

} // namespace cs336::runtime
