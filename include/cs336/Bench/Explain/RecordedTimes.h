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

  /// Sets the time of each kernel to the sum of the times of its functions. Returns INVALID_ARGUMENT if the profiled
  /// step belongs to another program: if the program lacks the profiled entry, or if this entry launches a kernel that
  /// the profile lacks.
  absl::Status addTo(ExplainedProgram &program) const;

private:
  struct Time {
    double nanoseconds = 0;
    int64_t instances = 0;
  };

  std::string path;
  /// The entry that ran: "train".
  std::string entry;
  std::map<std::string, Time> times;
};

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_RECORDEDTIMES_H
