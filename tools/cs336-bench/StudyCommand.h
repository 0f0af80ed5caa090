//===- StudyCommand.h - cs336-bench study -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYCOMMAND_H
#define CS336_TOOLS_BENCH_STUDYCOMMAND_H

#include "StudyLines.h"
#include "StudySelection.h"
#include "cs336/Bench/Command/Command.h"
#include "cs336/Support/EnumParser.h"

#include "absl/status/status.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// The subcommand `study`: runs other commands of this tool with the flags that a published study fixes. What follows
/// the study's name replaces them.
class StudyCommand : public Command {
public:
  /// `program` is the path of this program. `commands` are those that studies are made of.
  StudyCommand(std::string program, llvm::ArrayRef<Command *> commands);

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  /// None: the commands have theirs.
  std::vector<ColumnHead> getColumns() const override;
  /// Runs the commands one after the other as processes, and prints what they print. JSON of several becomes one array;
  /// with --output, each of several writes a file of its own.
  /// An interruption is handed to the command that runs, and leaves out those after it.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  /// Says on the standard error stream how many cells there are, how much memory they need, and about how long.
  void announce(const Study &study, const StudyArguments &parsed, const StudySelection &selection) const;
  /// Prints the JSON that the line gives, after what separates it from the one before. One that is interrupted early
  /// gives none, and leaves the separator to the next.
  absl::Status printDocument(const StudyLine &line, llvm::StringRef &separator) const;
  absl::Status runAll(const Study &study) const;
  /// Runs every study: `study all`.
  absl::Status runEvery() const;
  /// Returns the value of --out, which may follow the study's name.
  llvm::StringRef getFolder(const StudyArguments &parsed) const;

  std::string program;
  std::vector<Command *> commands;
  /// Names of studies, and of the commands whose flags a study takes, separated by '|' for shell completion.
  std::string names, commandNames;
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Studies"};
  llvm::cl::opt<bool> list, full;
  llvm::cl::opt<Edition, /*ExternalStorage=*/false, EnumParser<Edition>> edition;
  llvm::cl::opt<std::string> out;
  llvm::cl::opt<std::string> name;
  llvm::cl::list<std::string> arguments;
};

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYCOMMAND_H
