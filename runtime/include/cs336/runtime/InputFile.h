//===- InputFile.h - Regular files opened for reading -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files are read into memory of this process, not mapped: another process may
// write to a file or truncate it at any time. A mapping would show both, and a
// truncation would end this process by a signal.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_INPUTFILE_H
#define CS336_RUNTIME_INPUTFILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <sys/stat.h>
#include <utility>

namespace cs336::runtime {

/// A regular file, open for reading.
class InputFile {
public:
  /// Opens a file. Returns NOT_FOUND, PERMISSION_DENIED or UNAVAILABLE,
  /// depending on errno, with the path; INVALID_ARGUMENT if it is not a regular
  /// file. Never waits for the writer of a pipe.
  static absl::StatusOr<InputFile> Open(absl::string_view path);

  InputFile(InputFile &&other) : descriptor_(std::exchange(other.descriptor_, -1)), info_(other.info_) {}
  ~InputFile();

  /// Returns the bytes in the file when it was opened.
  int64_t size() const { return info_.st_size; }

  int descriptor() const { return descriptor_; }

  /// Reads `size` bytes at `offset`, which must lie within the file's size.
  /// Returns DATA_LOSS if the file has become shorter. Messages leave out the
  /// path.
  absl::Status Read(int64_t offset, int64_t size, void *to) const;

  /// Returns DATA_LOSS if the file was written to after Open(): the bytes read
  /// may mix old and new contents.
  absl::Status CheckUnchanged() const;

private:
  InputFile(int descriptor, const struct stat &info) : descriptor_(descriptor), info_(info) {}

  int descriptor_;
  struct stat info_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_INPUTFILE_H
