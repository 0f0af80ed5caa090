//===- RecordedTimes.h - Measured times of kernels --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_EXPLAIN_RECORDEDTIMES_H
#define CS336_BENCH_EXPLAIN_RECORDEDTIMES_H

#include "cs336/Bench/Compare/ResultsFile.h"
#include "cs336/Bench/Explain/KernelFacts.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <map>
#include <string>
#include <vector>

namespace cs336::bench {

/// The times of kernels in a profiled row of results that `cs336-bench model --profile --format json` has written.
class RecordedTimes {
public:
  /// Reads the row for a program. `settings` are those of the program's model. They are empty for a program that flags
  /// do not describe; the file must then have exactly one profiled row. Returns INVALID_ARGUMENT, naming the file and
  /// the reason, if the file cannot be read (see readResultsFile), if no row was profiled, if the row was measured on
  /// another kind of device, or if no row has the settings.
  static absl::StatusOr<RecordedTimes> read(llvm::StringRef path, Target target, const llvm::json::Object &settings,
                                            FindColumns findColumns);

  /// Returns the names of the commands that ran the kernel of this name in any profiled row: those of GEMMs for a
  /// kernel of a library. Returns no names for a kernel that no row has, and the errors of `read` for the file.
  static absl::StatusOr<std::vector<std::string>> findCommands(llvm::StringRef path, llvm::StringRef kernel,
                                                               FindColumns findColumns);

  /// Sets the time of each kernel to the sum of the times of its functions, and the time of each GEMM and copy to the
  /// mean over the commands of its name; older records do not have the latter. Returns INVALID_ARGUMENT if the profiled
  /// step belongs to another program: if the program lacks the profiled entry, or if this entry launches a kernel that
  /// the profile lacks.
  absl::Status addTo(ExplainedProgram &program) const;

private:
  struct Time {
    double nanoseconds = 0;
    int64_t instances = 0;
  };

  static absl::Status addProfile(llvm::StringRef path, const llvm::json::Array *profile,
                                 std::map<std::string, Time> &times);
  void addCommand(KernelFacts &command) const;

  std::string path;
  /// The entry that ran: "train".
  std::string entry;
  /// The times of kernels, and of commands of the program.
  std::map<std::string, Time> times, commandTimes;
  /// The number of profiled steps; 0 if the record does not have it.
  int64_t steps = 0;
};

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_RECORDEDTIMES_H
