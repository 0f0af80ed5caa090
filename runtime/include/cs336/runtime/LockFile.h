//===- LockFile.h - A file that one process holds ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_LOCKFILE_H
#define CS336_RUNTIME_LOCKFILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>
#include <utility>

namespace cs336::runtime {

/// An exclusive lock on a file, which contains the number and the host of the
/// process that holds it. The system releases the lock when the process ends,
/// however it ends, so that a file which a dead process left does not block
/// others. Processes that the holder starts do not inherit the lock.
class LockFile {
public:
  /// Locks the file, which is created if it does not exist, and never waits.
  /// Returns ALREADY_EXISTS, with "process 123 on host holds the lock", if another
  /// process, or another object of this process, holds the lock; UNIMPLEMENTED
  /// if the file system has no locks; otherwise the error of the system.
  static absl::StatusOr<LockFile> TryLock(const std::string &path);

  LockFile(LockFile &&other) : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LockFile &operator=(LockFile &&other) {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  /// Empties the file and releases the lock. The file remains: if it were
  /// removed, another process could hold a lock on the removed file.
  ~LockFile();

private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_LOCKFILE_H
