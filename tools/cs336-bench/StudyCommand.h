//===- StudyCommand.h - cs336-bench study -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYCOMMAND_H
#define CS336_TOOLS_BENCH_STUDYCOMMAND_H

#include "cs336/Bench/Command/Command.h"

#include "absl/status/status.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

struct Study;

/// The subcommand `study`: runs other commands of this tool with the flags that a published study fixes. Flags after
/// the study's name replace them.
class StudyCommand : public Command {
public:
  /// `program` is the path of this program. `commands` are those that studies are made of.
  StudyCommand(std::string program, llvm::ArrayRef<llvm::cl::SubCommand *> commands);

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  /// Runs the commands one after the other as processes, and prints what they print. JSON of several becomes one array;
  /// with --output, each of several writes a file of its own.
  /// An interruption is handed to the command that runs, and leaves out those after it.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  using Arguments = std::vector<std::string>;

  bool hasFlag(llvm::StringRef command, llvm::StringRef flag) const;
  /// The command line of every step. INVALID_ARGUMENT if a flag that was given belongs to none of them.
  absl::Status expand(const Study &study, std::vector<Arguments> &lines) const;
  /// If a path is given, the output is written there.
  absl::Status runLine(const Arguments &line, std::optional<llvm::StringRef> output) const;
  /// Prints the JSON that the line gives, after what separates it from the one before. One that is interrupted early
  /// gives none, and leaves the separator to the next.
  absl::Status printDocument(const Arguments &line, llvm::StringRef &separator) const;
  absl::Status runAll(const Study &study) const;

  std::string program;
  std::vector<llvm::cl::SubCommand *> commands;
  /// The names of studies, and of the commands whose flags a study accepts, separated by '|' for shell completion.
  std::string names, commandNames;
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Studies"};
  llvm::cl::opt<bool> list;
  llvm::cl::opt<std::string> name;
  llvm::cl::list<std::string> arguments;
};

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYCOMMAND_H
