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
  /// Reads the row for a program. `settings` are those of the program's model; empty for a program that is not
  /// described by flags, whose file must then have one profiled row. Returns INVALID_ARGUMENT, naming the file and the
  /// reason, if it cannot be read (see readResultsFile), if no row was profiled, if it was measured on another kind of
  /// device, or if no row has the settings.
  static absl::StatusOr<RecordedTimes> read(llvm::StringRef path, Target target, const llvm::json::Object &settings,
                                            FindColumns findColumns);

  /// Gives each kernel its time: the sum of its functions. Returns INVALID_ARGUMENT if the step that was profiled is of
  /// another program: the program has no entry of its name, or launches a kernel there
  /// that the profile lacks.
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
