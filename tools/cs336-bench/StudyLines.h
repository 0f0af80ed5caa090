//===- StudyLines.h - The command lines of a study --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYLINES_H
#define CS336_TOOLS_BENCH_STUDYLINES_H

#include "Studies.h"
#include "cs336/Bench/Command/Command.h"

#include "absl/status/status.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// A command of this tool, and its flags.
using StudyLine = std::vector<std::string>;

/// The arguments after a study's name: flags that replace its own, and flags of the study itself.
class StudyArguments {
public:
  /// `isFull` if --full stood before the name, `edition` if --edition did. INVALID_ARGUMENT if a word is not a flag and
  /// follows none, and for an unknown edition.
  absl::Status parse(llvm::ArrayRef<std::string> words, bool isFull, Edition edition);

  Edition getEdition() const { return edition; }

  bool wantsHelp() const { return help; }
  /// Returns true if the steps have the flags of the CPU: --device is cpu, and --full is not given.
  bool isSmall() const { return isOnCPU && !full; }
  /// Returns true if --device names a GPU.
  bool isOnGPU() const { return !isOnCPU; }
  bool isJSON() const { return json; }
  /// True if --forecast is given: nothing is measured.
  bool wantsForecast() const { return forecast; }

  /// The value of --out, or an empty text.
  llvm::StringRef getFolder() const { return folder; }
  /// Returns whether the flag was given, for all commands or for one.
  bool isGiven(llvm::StringRef name) const;

  /// Returns true if the study may leave the step out where its command rejects the given flags: the step has flags of
  /// its own, and none of them is given.
  bool mayLeaveOut(const StudyStep &step) const;

  /// Returns INVALID_ARGUMENT for a flag that no command of the studies has, or none that the device has.
  absl::Status check(llvm::ArrayRef<Study> studies, llvm::ArrayRef<Command *> commands) const;
  /// Returns the command line of every step that the device has, with the flags of the CPU if `small` is set. Each
  /// command gets the given flags that it has, and those for it alone: "--model.steps 2" is "--steps 2" for model.
  /// Flags of one step's own go to that step.
  std::vector<StudyLine> expand(const Study &study, llvm::ArrayRef<Command *> commands, bool onGPU, bool small) const;

private:
  /// Each flag with the values that follow it.
  std::vector<StudyLine> given;
  std::string folder;
  Edition edition = Edition::Of2025;
  bool help = false, full = false, forecast = false, isOnCPU = true, json = false;
};

/// Returns true if the command has a flag of this name.
bool hasFlag(llvm::ArrayRef<Command *> commands, llvm::StringRef command, llvm::StringRef flag);

/// Returns the flags of a study's step. If write-ups have published figures of the study, they include --published for
/// the commands that have it.
StudyFlags getStepFlags(const Study &study, const StudyStep &step, llvm::ArrayRef<Command *> commands, Edition edition,
                        bool isSmall);

/// Gives every line a file of its own, named after its command: "all-model.csv" and "all-model-2.csv" for "all.csv".
/// Returns whether --output was given.
bool separateOutputs(std::vector<StudyLine> &lines);

/// "cs336-bench model --size small".
std::string describeLine(llvm::ArrayRef<std::string> line);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYLINES_H
