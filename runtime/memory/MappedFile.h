//===- MappedFile.h - A file's bytes in memory ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_MEMORY_MAPPEDFILE_H
#define CS336_RUNTIME_MEMORY_MAPPEDFILE_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>

namespace cs336::runtime {

/// A regular file mapped for reading.
class MappedFile {
public:
  /// NOT_FOUND, PERMISSION_DENIED or another code by errno, with the path;
  /// INVALID_ARGUMENT if it is no regular file.
  static absl::StatusOr<MappedFile> Open(absl::string_view path);

  absl::Span<const uint8_t> bytes() const { return {data_.get(), size_}; }

private:
  struct Unmap {
    size_t size;
    void operator()(const uint8_t *data) const;
  };
  std::unique_ptr<const uint8_t, Unmap> data_;
  size_t size_ = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_MEMORY_MAPPEDFILE_H
