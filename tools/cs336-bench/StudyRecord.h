//===- StudyRecord.h - The commands of a series of studies ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYRECORD_H
#define CS336_TOOLS_BENCH_STUDYRECORD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include "absl/status/status.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// One command of a series, and what became of it.
struct StudyEntry {
  enum class State { Waiting, Complete, PeerMissing, Failed, Interrupted, LeftOut };

  std::string study;
  /// The command line without --format and --output: "cs336-bench model --size small".
  std::string command;
  /// The file of its document within the folder: "nsys_profile-1-model.json".
  std::string document;
  /// The build of this program that ran it.
  std::string build;
  State state = State::Waiting;
  /// The reason why it is not complete.
  std::string error;

  /// Returns whether the document is complete.
  bool hasResults() const { return state == State::Complete || state == State::PeerMissing; }
};

/// "complete", "failed".
llvm::StringRef stringifyState(StudyEntry::State state);

/// "studies.json" of a folder: the commands of a series. A file that this program has not written counts as empty, so
/// that its commands run again.
class StudyRecord {
public:
  explicit StudyRecord(std::string folder);

  /// Returns whether an earlier series ran the command of `entry` with the same build, and its document is whole. Then
  /// `entry` becomes the earlier one.
  bool findFinished(StudyEntry &entry) const;
  /// Returns whether an earlier series began the command of `entry` with the same build, so that its document has the
  /// same rows, or some of them.
  bool wasBegun(const StudyEntry &entry) const { return find(entry) != nullptr; }
  /// Writes the record, completely or not at all.
  absl::Status write(llvm::ArrayRef<StudyEntry> entries) const;

  std::string getPath(llvm::StringRef file) const;

private:
  /// Returns the entry of an earlier series with the same command and build, or null.
  const StudyEntry *find(const StudyEntry &entry) const;

  std::string folder;
  std::vector<StudyEntry> earlier;
};

/// Returns the results document in the file, or nullopt if the file has none, or the document has no page.
std::optional<llvm::json::Object> readDocument(llvm::StringRef path);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYRECORD_H
