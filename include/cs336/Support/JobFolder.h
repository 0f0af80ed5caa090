//===- JobFolder.h - The temporary folder of a job --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_JOBFOLDER_H
#define CS336_SUPPORT_JOBFOLDER_H

#include "absl/status/statusor.h"

#include <memory>
#include <string>
#include <utility>

namespace cs336 {

/// A folder `cs336-job-*` in the system's temporary folder, for the files that the processes of a job share. It is
/// removed with the object. A process that is killed leaves it; the next job removes it.
///
/// The object holds a lock (flock) on the folder. The system releases the lock when the process ends, for any reason. A
/// folder whose lock can be acquired is therefore abandoned.
class JobFolder {
public:
  /// Removes the abandoned folders of this user, then creates a new one. UNAVAILABLE if that is not possible.
  static absl::StatusOr<std::unique_ptr<JobFolder>> create();
  ~JobFolder();
  JobFolder(const JobFolder &) = delete;
  JobFolder &operator=(const JobFolder &) = delete;

  const std::string &getPath() const { return path; }

private:
  JobFolder(std::string path, int folder) : path(std::move(path)), folder(folder) {}

  std::string path;
  int folder; // Open, with the lock.
};

} // namespace cs336

#endif // CS336_SUPPORT_JOBFOLDER_H
