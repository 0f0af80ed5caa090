//===- FileDescriptor.h - Open files and their errors -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FILE_FILEDESCRIPTOR_H
#define CS336_RUNTIME_FILE_FILEDESCRIPTOR_H

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <unistd.h>
#include <utility>

namespace cs336::runtime {

/// Owns a file descriptor, or none.
class FileDescriptor {
public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor &&other) : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0)
      close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int get() const { return number_; }
  /// Releases the descriptor to the caller.
  int Release() { return std::exchange(number_, -1); }

private:
  int number_;
};

/// Returns the status of a failed system call on a file: NOT_FOUND,
/// PERMISSION_DENIED, RESOURCE_EXHAUSTED for missing memory, otherwise
/// UNAVAILABLE. Unlike absl::ErrnoToStatus, it does not report a full disk as
/// exhausted memory.
absl::Status FileError(int error, absl::string_view what);

/// Returns INVALID_ARGUMENT if the system would read the path as another,
/// shorter one.
absl::Status CheckPath(absl::string_view path);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FILE_FILEDESCRIPTOR_H
