//===- TunedFile.h - Tuned schedules on disk --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DRIVER_TUNE_TUNEDFILE_H
#define CS336_LIB_DRIVER_TUNE_TUNEDFILE_H

#include "cs336/Target/CUDA/TunedSchedules.h"

#include "absl/status/statusor.h"

namespace cs336 {

/// The file of tuned schedules of one GPU model in the cache's folder. Processes may share the file: each change is
/// merged into the present contents and replaces the file atomically.
class TunedFile {
public:
  /// The attributes of schedules are created in `context`.
  TunedFile(const std::string &folder, const std::string &device, const std::string &architecture,
            mlir::MLIRContext *context);

  const std::string &getPath() const { return path; }

  /// Reads the file. A file that does not exist has no schedules. Returns an error, and has no schedules, if the file
  /// is damaged, is for another GPU, or could have been written by other users.
  absl::Status read();

  const cuda::TunedSchedule *find(llvm::StringRef problem) const { return schedules.find(problem); }

  /// Stores the schedule of a problem. If another process has stored one for the same kernels in the meantime, that one
  /// is kept, so that all processes compute the same bits.
  absl::Status settle(llvm::StringRef problem, cuda::TunedSchedule schedule);

private:
  /// Returns the schedules on disk; none on an error.
  absl::StatusOr<cuda::TunedSchedules> load() const;

  std::string folder, name, path;
  mlir::MLIRContext *context;
  cuda::TunedSchedules schedules;
};

} // namespace cs336

#endif // CS336_LIB_DRIVER_TUNE_TUNEDFILE_H
