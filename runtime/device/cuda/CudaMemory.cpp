//===- CudaMemory.cpp - Memory of a GPU -----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaMemory.h"

#include "cs336/runtime/Storage.h"
#include "parallel/Parallel.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace cs336::runtime {

namespace {

/// Size of each staging buffer: longer copies do not get more of the bus' rate.
constexpr int64_t kStagingBytes = int64_t{32} << 20;

/// The page size of host memory on the systems that CUDA supports.
constexpr int64_t kPage = int64_t{64} << 10;

/// The alignment that cuMemAlloc guarantees.
constexpr int64_t kAllocationAlignment = 256;

/// The size of large pages of device memory. Copies between GPUs are up to 1.5 times as fast from and to allocations of
/// whole pages (docs/Rationale/RanksOnGPUs.md).
constexpr int64_t kLargePage = int64_t{2} << 20;

/// Returns the bytes to allocate for a block: whole large pages, unless the block is smaller than one.
int64_t RoundUp(int64_t bytes) {
  return bytes < kLargePage ? bytes : AddBytes(bytes, kLargePage - 1) / kLargePage * kLargePage;
}

} // namespace

absl::StatusOr<std::unique_ptr<CudaMemory>> CudaMemory::Create(const CudaContext &context) {
  std::unique_ptr<CudaMemory> memory(new CudaMemory(context));
  size_t free = 0, total = 0;
  CS336_RETURN_IF_ERROR(memory->Count(free, total));
  memory->available_at_start_ = static_cast<int64_t>(free);
  memory->used_before_ = static_cast<int64_t>(total - free);
  return memory;
}

std::string CudaMemory::Name() const { return absl::StrCat("memory of ", context_.Description()); }

absl::Status CudaMemory::Count(size_t &free, size_t &total) const {
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  return context_.driver().MemGetInfo(&free, &total);
}

absl::StatusOr<int64_t> CudaMemory::AvailableBytes() const {
  size_t free = 0, total = 0;
  CS336_RETURN_IF_ERROR(Count(free, total));
  return static_cast<int64_t>(free);
}

absl::StatusOr<int64_t> CudaMemory::UsedBytes() const {
  CS336_ASSIGN_OR_RETURN(int64_t available, AvailableBytes());
  return std::max<int64_t>(0, available_at_start_ - available);
}

absl::StatusOr<MemoryBlock> CudaMemory::Allocate(int64_t bytes, int64_t alignment) {
  if (bytes == 0)
    return MemoryBlock();
  int64_t slack = alignment > kAllocationAlignment ? alignment : 0, allocated = RoundUp(AddBytes(bytes, slack));
  CS336_ASSIGN_OR_RETURN(int64_t available, AvailableBytes());
  std::string failure = absl::StrCat("cannot allocate ", FormatBytes(bytes), " of ", Name(), ": ",
                                     FormatBytes(available), " are available");
  if (allocated > available)
    return absl::ResourceExhaustedError(failure);
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  CUdeviceptr address = 0;
  CS336_RETURN_IF_ERROR(Annotate(context_.driver().MemAlloc(&address, allocated), failure));
  CUdeviceptr aligned = slack == 0 ? address : (address + slack - 1) / slack * slack;
  return MemoryBlock(reinterpret_cast<void *>(aligned), bytes, [this, address] {
    if (context_.is_lost())
      return;
    CurrentContext current(context_);
    context_.driver().MemFree(address).IgnoreError();
  });
}

absl::StatusOr<MemoryBlock> CudaMemory::AllocateStaging(int64_t bytes) {
  if (bytes == 0)
    return MemoryBlock();
  // Pinning works on whole pages, so two blocks must not share one. The driver's own allocations use small pages that
  // are provided one by one, which takes seconds for the parameters of a large model.
  int64_t whole_pages = (bytes + kPage - 1) / kPage * kPage;
  CS336_ASSIGN_OR_RETURN(Storage storage, Storage::Allocate(whole_pages, kPage));
  CS336_ASSIGN_OR_RETURN(MemoryBlock pinned, Pin(storage.data(), whole_pages));
  void *data = storage.data();
  // Members are destroyed in reverse order: the pages are unpinned before they
  // are freed.
  struct Owned {
    Storage storage;
    MemoryBlock pinned;
  };
  return MemoryBlock(data, bytes, [owned = std::make_shared<Owned>(std::move(storage), std::move(pinned))] {});
}

absl::StatusOr<MemoryBlock> CudaMemory::Pin(void *data, int64_t bytes) {
  if (bytes == 0)
    return MemoryBlock();
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  const DriverApi &driver = context_.driver();
  CS336_RETURN_IF_ERROR(Annotate(driver.MemHostRegister(data, bytes, CU_MEMHOSTREGISTER_PORTABLE),
                                 absl::StrCat("cannot pin ", FormatBytes(bytes), " of host memory")));
  MemoryBlock block(data, bytes, [this, data] {
    if (context_.is_lost())
      return;
    CurrentContext current(context_);
    context_.driver().MemHostUnregister(data).IgnoreError();
  });
  CUdeviceptr mapped = 0;
  CS336_RETURN_IF_ERROR(driver.MemHostGetDevicePointer(&mapped, data, 0));
  if (mapped != ToDevicePointer(data))
    return absl::FailedPreconditionError(
        absl::StrCat(context_.Description(), " does not map the host's memory at the host's addresses"));
  return block;
}

absl::Status CudaMemory::Fill(void *dst, uint8_t byte, int64_t bytes) {
  if (bytes == 0)
    return absl::OkStatus();
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  CS336_RETURN_IF_ERROR(context_.driver().MemsetD8Async(ToDevicePointer(dst), byte, bytes, context_.stream()));
  return context_.WaitForStream();
}

absl::Status CudaMemory::CopyFromHost(void *dst, const void *src, int64_t bytes) {
  return Write(dst, bytes, [src](void *chunk, int64_t offset, int64_t count) {
    ParallelCopy(chunk, static_cast<const char *>(src) + offset, count);
  });
}

absl::Status CudaMemory::CopyToHost(void *dst, const void *src, int64_t bytes) {
  if (bytes == 0)
    return absl::OkStatus();
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  CS336_RETURN_IF_ERROR(context_.driver().MemcpyDtoHAsync(dst, ToDevicePointer(src), bytes, context_.stream()));
  return context_.WaitForStream();
}

absl::Status CudaMemory::CopyFromOthers(void *dst, const void *src, int64_t bytes) {
  if (bytes == 0)
    return absl::OkStatus();
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  CS336_ASSIGN_OR_RETURN(CudaEvent written, CudaEvent::Create(context_));
  CS336_RETURN_IF_ERROR(written.Record(CU_STREAM_LEGACY));
  CS336_RETURN_IF_ERROR(written.Block(context_.stream()));
  CS336_RETURN_IF_ERROR(
      context_.driver().MemcpyAsync(ToDevicePointer(dst), ToDevicePointer(src), bytes, context_.stream()));
  return context_.WaitForStream();
}

absl::Status CudaMemory::PrepareStaging() {
  if (staging_.back().block.data()) // The last one: an earlier attempt may have failed in between.
    return absl::OkStatus();
  for (Staging &staging : staging_) {
    CS336_ASSIGN_OR_RETURN(staging.copied, CudaEvent::Create(context_));
    CS336_ASSIGN_OR_RETURN(staging.block, AllocateStaging(kStagingBytes));
  }
  return absl::OkStatus();
}

absl::Status CudaMemory::Write(void *dst, int64_t bytes, Producer produce) {
  CS336_RETURN_IF_ERROR(PrepareStaging());
  CurrentContext current(context_);
  CS336_RETURN_IF_ERROR(current.status());
  CUdeviceptr address = ToDevicePointer(dst);
  int turn = 0;
  for (int64_t offset = 0; offset < bytes; offset += kStagingBytes, turn ^= 1) {
    Staging &staging = staging_[turn];
    int64_t count = std::min(kStagingBytes, bytes - offset);
    CS336_RETURN_IF_ERROR(staging.copied.Synchronize());
    produce(staging.block.data(), offset, count);
    CS336_RETURN_IF_ERROR(
        context_.driver().MemcpyHtoDAsync(address + offset, staging.block.data(), count, context_.stream()));
    CS336_RETURN_IF_ERROR(staging.copied.Record(context_.stream()));
  }
  return context_.WaitForStream();
}

} // namespace cs336::runtime
