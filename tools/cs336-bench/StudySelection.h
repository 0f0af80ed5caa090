//===- StudySelection.h - The commands of a study that run ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYSELECTION_H
#define CS336_TOOLS_BENCH_STUDYSELECTION_H

#include "StudyLines.h"
#include "cs336/Bench/Forecast/Forecast.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// The commands of a study that run, and those that it leaves out.
struct StudySelection {
  std::vector<StudyLine> lines;
  /// The sum over `lines`.
  Forecast forecast;
  /// Each omitted command with the reason: "'cs336-bench attention ...': --tiles requires ...".
  std::vector<std::string> leftOut;
};

/// Expands the study for the device of the arguments and asks each command with --forecast, as a process of `program`,
/// whether it takes its flags. Nothing is measured. Returns INVALID_ARGUMENT if a command rejects them that the study
/// must not leave out.
absl::StatusOr<StudySelection> selectCommands(const Study &study, const StudyArguments &arguments,
                                              const std::string &program, llvm::ArrayRef<Command *> commands);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYSELECTION_H
