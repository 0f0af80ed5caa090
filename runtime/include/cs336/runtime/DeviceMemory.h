//===- DeviceMemory.h - Memory that a device computes in --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICEMEMORY_H
#define CS336_RUNTIME_DEVICEMEMORY_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace cs336::runtime {

/// Owns a block of a device's memory, or of host memory that the device copies
/// from and to. The device must outlive the block.
class MemoryBlock {
public:
  MemoryBlock() = default;
  MemoryBlock(void *data, int64_t size, std::function<void()> release)
      : data_(data), size_(size), release_(std::move(release)) {}
  MemoryBlock(MemoryBlock &&other) noexcept { *this = std::move(other); }
  MemoryBlock &operator=(MemoryBlock &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~MemoryBlock() {
    if (release_)
      release_();
  }

  char *data() const { return static_cast<char *>(data_); }
  int64_t size() const { return size_; }

private:
  void *data_ = nullptr;
  int64_t size_ = 0;
  std::function<void()> release_;
};

/// Allocates and fills the memory of one device. Every operation runs after the
/// work that was enqueued on the device before, and is done on return.
class DeviceMemory {
public:
  /// Writes bytes [offset, offset + bytes) of the destination of Write() to
  /// `chunk`.
  using Producer = absl::FunctionRef<void(void *chunk, int64_t offset, int64_t bytes)>;

  virtual ~DeviceMemory();

  /// Returns text such as "host memory" or "memory of cuda:0 (NVIDIA H200)".
  virtual std::string Name() const = 0;
  /// Returns true if the host can read and write blocks directly.
  virtual bool is_host() const = 0;
  /// Returns the bytes that could be allocated now.
  virtual absl::StatusOr<int64_t> AvailableBytes() const = 0;
  /// Returns the bytes that are in use now and were available when this object was created, as the device reports them.
  virtual absl::StatusOr<int64_t> UsedBytes() const = 0;
  /// Returns the bytes that were in use when this object was created, by this process and all others. 0 for the host's
  /// memory, for which they are not counted.
  virtual int64_t BytesBefore() const = 0;

  /// Allocates memory with undefined content. `alignment` is a power of two.
  /// Returns RESOURCE_EXHAUSTED with the requested and the available bytes.
  virtual absl::StatusOr<MemoryBlock> Allocate(int64_t bytes, int64_t alignment) = 0;
  /// Allocates host memory that the device copies from and to without staging,
  /// and that its kernels reach at the same address.
  virtual absl::StatusOr<MemoryBlock> AllocateStaging(int64_t bytes) = 0;
  /// Makes existing host memory behave like that of AllocateStaging() while the
  /// returned block lives. The block does not own the memory, whose pages must
  /// hold nothing else.
  virtual absl::StatusOr<MemoryBlock> Pin(void *data, int64_t bytes) = 0;

  virtual absl::Status Fill(void *dst, uint8_t byte, int64_t bytes) = 0;
  virtual absl::Status CopyFromHost(void *dst, const void *src, int64_t bytes) = 0;
  virtual absl::Status CopyToHost(void *dst, const void *src, int64_t bytes) = 0;
  /// Copies between two addresses that the device reaches. `src` belongs to the
  /// caller's other libraries; it is read after all work on CUDA's legacy default
  /// stream so far.
  virtual absl::Status CopyFromOthers(void *dst, const void *src, int64_t bytes) = 0;
  /// Fills dst with the chunks that `produce` writes, in order. Every chunk
  /// starts at a multiple of 64 bytes.
  virtual absl::Status Write(void *dst, int64_t bytes, Producer produce) = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICEMEMORY_H
