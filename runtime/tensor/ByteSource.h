//===- ByteSource.h - Bytes by position -------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TENSOR_BYTESOURCE_H
#define CS336_RUNTIME_TENSOR_BYTESOURCE_H

#include "cs336/runtime/InputFile.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>
#include <cstring>

namespace cs336::runtime {

/// The input of a reader of tensor files: a file, of which only the requested
/// parts are read, or bytes in memory.
class ByteSource {
public:
  virtual ~ByteSource() = default;
  virtual int64_t size() const = 0;

  /// Copies `size` bytes at `offset`, which must lie within the source.
  virtual absl::Status Read(int64_t offset, int64_t size, void *to) const = 0;
};

class MemorySource : public ByteSource {
public:
  explicit MemorySource(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  absl::Status Read(int64_t offset, int64_t size, void *to) const override {
    if (size != 0)
      std::memcpy(to, bytes_.data() + offset, size);
    return absl::OkStatus();
  }

private:
  absl::Span<const uint8_t> bytes_;
};

class FileSource : public ByteSource {
public:
  explicit FileSource(const InputFile &file) : file_(file) {}
  int64_t size() const override { return file_.size(); }
  absl::Status Read(int64_t offset, int64_t size, void *to) const override { return file_.Read(offset, size, to); }

private:
  const InputFile &file_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TENSOR_BYTESOURCE_H
