//===- StudySeries.h - Every study into one folder --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYSERIES_H
#define CS336_TOOLS_BENCH_STUDYSERIES_H

#include "StudyLines.h"
#include "StudyRecord.h"
#include "cs336/runtime/LockFile.h"

#include "absl/status/statusor.h"

#include <optional>
namespace cs336::bench {

/// `study all`: runs the commands of all studies one after the other. The folder receives a results document per
/// command, the record of all commands, and a report in several formats.
class StudySeries {
public:
  StudySeries(std::string program, llvm::ArrayRef<Command *> commands, llvm::StringRef folder);

  /// Runs the commands that the folder's record does not have as finished. A command that fails does not end the
  /// series; an interruption does. Writes the report in either case. Returns INTERNAL if a command failed,
  /// FAILED_PRECONDITION if another process runs a series in the folder, and UNAVAILABLE if the folder cannot be
  /// written.
  absl::Status run(const StudyArguments &arguments);

private:
  struct Task {
    const Study *study;
    StudyLine line;
    /// As StudyStep::hasTimeline.
    bool hasTimeline;
    /// As StudyArguments::mayLeaveOut.
    bool mayBeLeftOut;
    /// As StudyRecord::wasBegun.
    bool wasBegun = false;
  };

  /// Locks the folder for this process. Returns nullopt, after a note, if the file system has no locks.
  absl::StatusOr<std::optional<runtime::LockFile>> lock() const;
  /// Lists the commands in `tasks` and `entries`.
  void list(const StudyArguments &arguments);
  void runTask(const Task &task, StudyEntry &entry) const;
  /// Draws all results. Returns the paths of the pictures, relative to the folder; none, after a note, if that fails.
  std::vector<std::string> draw() const;
  /// Returns the status of the series.
  absl::Status summarize() const;

  std::string program;
  std::vector<Command *> commands;
  std::string folder;
  std::vector<Task> tasks;
  std::vector<StudyEntry> entries;
};

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYSERIES_H
