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

/// Owns a block of a device's memory, or of host memory that it copies from
/// and to. Not to be outlived by the device.
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

/// Allocates and fills the memory of one device. Everything here happens after
/// the work that was enqueued on the device before, and is done on return.
class DeviceMemory {
public:
  /// Writes part [offset, offset + bytes) of what Write() fills to `chunk`.
  using Producer = absl::FunctionRef<void(void *chunk, int64_t offset, int64_t bytes)>;

  virtual ~DeviceMemory();

  /// "host memory", "memory of cuda:0 (NVIDIA H200)".
  virtual std::string Name() const = 0;
  /// Whether blocks are memory that the host may read and write itself.
  virtual bool is_host() const = 0;
  /// Bytes that could be allocated now.
  virtual absl::StatusOr<int64_t> AvailableBytes() const = 0;
  /// Bytes that the device has taken from what was available when it was
  /// created, by its own count.
  virtual absl::StatusOr<int64_t> UsedBytes() const = 0;

  /// `alignment` is a power of two; the content is undefined.
  /// RESOURCE_EXHAUSTED says how much was wanted and how much there is.
  virtual absl::StatusOr<MemoryBlock> Allocate(int64_t bytes, int64_t alignment) = 0;
  /// Host memory that the device copies from and to without staging, and that
  /// its kernels reach at the same address.
  virtual absl::StatusOr<MemoryBlock> AllocateStaging(int64_t bytes) = 0;
  /// Makes such memory of `bytes` at `data`, in pages that hold nothing else, as
  /// long as the block lives, which owns no memory itself.
  virtual absl::StatusOr<MemoryBlock> Pin(void *data, int64_t bytes) = 0;

  virtual absl::Status Fill(void *dst, uint8_t byte, int64_t bytes) = 0;
  virtual absl::Status CopyFromHost(void *dst, const void *src, int64_t bytes) = 0;
  virtual absl::Status CopyToHost(void *dst, const void *src, int64_t bytes) = 0;
  /// Between two places that the device reaches. `src` is others', and is read
  /// after what they ordered before CUDA's legacy default stream.
  virtual absl::Status CopyFromOthers(void *dst, const void *src, int64_t bytes) = 0;
  /// Fills dst with what `produce` gives, chunk after chunk in order; a chunk
  /// starts at a multiple of 64 bytes.
  virtual absl::Status Write(void *dst, int64_t bytes, Producer produce) = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICEMEMORY_H
