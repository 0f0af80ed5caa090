//===- StudyCommand.cpp - cs336-bench study -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyCommand.h"

#include "Studies.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

#include <csignal>
#include <map>
#include <optional>
#include <sys/syscall.h>
#include <unistd.h>

using namespace cs336::bench;
namespace cl = llvm::cl;

static constexpr llvm::StringLiteral kDescription = "runs the measurements of a published study";

StudyCommand::StudyCommand(std::string program, llvm::ArrayRef<cl::SubCommand *> commands)
    : program(std::move(program)), commands(commands.begin(), commands.end()),
      names(llvm::join(llvm::map_range(getStudies(), [](const Study &study) { return study.name; }), "|")),
      commandNames(
          llvm::join(llvm::map_range(commands, [](cl::SubCommand *command) { return command->getName(); }), "|")),
      subcommand("study", kDescription),
      list("list", cl::desc("List the studies and their commands"), cl::cat(category), cl::sub(subcommand)),
      name(cl::Positional, cl::desc("<study>"), cl::value_desc(names), cl::cat(category), cl::sub(subcommand)),
      arguments(cl::ConsumeAfter,
                cl::desc("[flags of the commands that it runs, instead of the study's; --output FILE of several "
                         "commands writes FILE-COMMAND]"),
                cl::value_desc(commandNames), cl::cat(category), cl::sub(subcommand)) {}

void StudyCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

bool StudyCommand::hasFlag(llvm::StringRef command, llvm::StringRef flag) const {
  for (cl::SubCommand *known : commands)
    if (known->getName() == command)
      return known->OptionsMap.contains(flag);
  return false;
}

/// "--length 4" and "--length=4" are of the flag "length".
static llvm::StringRef getFlagName(llvm::StringRef argument) {
  return argument.starts_with("-") ? argument.ltrim('-').split('=').first : llvm::StringRef();
}

/// The flag by the spelling that studies have: published scripts write underscores.
static std::string normalize(llvm::StringRef flag) {
  std::string text = flag.str();
  llvm::replace(text, '_', '-');
  return text == "context-length" ? "length" : text;
}

absl::Status StudyCommand::expand(const Study &study, std::vector<Arguments> &lines) const {
  // Each flag with the values that follow it.
  std::vector<Arguments> given;
  for (const std::string &argument : arguments) {
    if (getFlagName(argument).empty() && given.empty())
      return absl::InvalidArgumentError(absl::StrCat("'", argument, "' is not a flag"));
    if (!getFlagName(argument).empty())
      given.emplace_back();
    given.back().push_back(argument);
  }
  for (const Arguments &flag : given) {
    llvm::StringRef flagName = getFlagName(flag.front());
    if (llvm::none_of(study.steps, [&](const StudyStep &step) { return hasFlag(step.command, flagName); }))
      return absl::InvalidArgumentError(absl::StrCat("no command of the study ", study.name.str(), " has a flag --",
                                                     flagName.str(), "; cs336-bench study --list says what it runs"));
  }
  for (const StudyStep &step : study.steps) {
    Arguments &line = lines.emplace_back();
    line.push_back(step.command.str());
    for (auto [flag, value] : step.flags) {
      bool isReplaced = llvm::any_of(given, [&, wanted = normalize(flag)](const Arguments &other) {
        llvm::StringRef otherName = getFlagName(other.front());
        return normalize(otherName) == wanted && hasFlag(step.command, otherName);
      });
      if (isReplaced)
        continue;
      line.push_back("--" + flag.str());
      if (!value.empty())
        line.push_back(value.str());
    }
    for (const Arguments &flag : given)
      if (hasFlag(step.command, getFlagName(flag.front())))
        llvm::append_range(line, flag);
  }
  return absl::OkStatus();
}

static std::string describe(llvm::ArrayRef<std::string> line) { return "cs336-bench " + llvm::join(line, " "); }

absl::Status StudyCommand::runLine(const Arguments &line, std::optional<llvm::StringRef> output) const {
  llvm::errs() << "$ " << describe(line) << "\n";
  std::vector<llvm::StringRef> command{program};
  command.insert(command.end(), line.begin(), line.end());
  std::string message;
  llvm::sys::ProcessInfo process =
      llvm::sys::ExecuteNoWait(program, command, std::nullopt, {std::nullopt, output, std::nullopt}, 0, &message);
  if (process.Pid != 0) {
    // Can be read once the command has ended. Kernels without such files leave the signal to the terminal, which sends
    // it to both.
    int end = static_cast<int>(syscall(SYS_pidfd_open, process.Pid, 0));
    if (end >= 0 && !waitForInput(end).ok())
      kill(process.Pid, getInterruption());
    close(end);
    process = llvm::sys::Wait(process, std::nullopt, &message);
    if (process.ReturnCode == 0)
      return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("'", describe(line), "' failed", message.empty() ? "; what it said is above" : ": ", message));
}

absl::Status StudyCommand::printDocument(const Arguments &line, llvm::StringRef &separator) const {
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("cs336-study", "json", path))
    return absl::UnavailableError(absl::StrCat("a temporary file cannot be made: ", error.message()));
  llvm::FileRemover remover(path);
  absl::Status status = runLine(line, path);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> document = llvm::MemoryBuffer::getFile(path);
  if (!document || (*document)->getBufferSize() == 0)
    return status;
  llvm::outs() << separator << (*document)->getBuffer();
  llvm::outs().flush();
  separator = ",\n";
  return status;
}

/// The place of the path that --output names in the line; null if there is none.
static std::string *findOutput(std::vector<std::string> &line, size_t &prefix) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (getFlagName(line[i]) != "output")
      continue;
    size_t equals = line[i].find('=');
    prefix = equals == std::string::npos ? 0 : equals + 1;
    if (equals != std::string::npos)
      return &line[i];
    return i + 1 < line.size() ? &line[i + 1] : nullptr;
  }
  return nullptr;
}

/// Gives every line a separate file, named after its command: "all-model.csv" and "all-model-2.csv" for "all.csv".
/// Returns whether --output was given.
static bool separateOutputs(std::vector<std::vector<std::string>> &lines) {
  std::map<std::string, int> counts;
  bool isGiven = false;
  for (std::vector<std::string> &line : lines) {
    size_t prefix = 0;
    std::string *output = findOutput(line, prefix);
    isGiven |= output != nullptr;
    if (!output || lines.size() == 1)
      continue;
    int count = ++counts[line.front()];
    std::string name = line.front() + (count > 1 ? "-" + std::to_string(count) : "");
    *output = output->substr(0, prefix) + getTablePath(llvm::StringRef(*output).substr(prefix), name);
  }
  return isGiven;
}

absl::Status StudyCommand::runAll(const Study &study) const {
  catchInterruptions();
  std::vector<Arguments> lines;
  if (absl::Status status = expand(study, lines); !status.ok())
    return status;
  bool isJSON = llvm::is_contained(arguments, "--format=json");
  for (size_t i = 0; i + 1 < arguments.size(); ++i)
    isJSON |= arguments[i] == "--format" && arguments[i + 1] == "json";
  bool hasFiles = separateOutputs(lines);
  bool isArray = !hasFiles && isJSON && lines.size() > 1;
  llvm::outs() << (isArray ? "[\n" : "");
  llvm::StringRef separator;
  size_t complete = 0;
  absl::Status status = absl::OkStatus();
  for (const Arguments &line : lines) {
    if (isArray) {
      status = printDocument(line, separator);
    } else {
      llvm::outs() << separator;
      llvm::outs().flush();
      separator = hasFiles ? "" : "\n";
      status = runLine(line, std::nullopt);
    }
    complete += status.ok();
    if (!status.ok() || getInterruption() != 0)
      break;
  }
  llvm::outs() << (isArray ? "]\n" : "");
  llvm::outs().flush();
  if (getInterruption() != 0)
    status = checkInterruption();
  if (complete == lines.size())
    return absl::OkStatus();
  return describeEarlyEnd(status, complete, lines.size(), "commands are not complete");
}

absl::Status StudyCommand::run(llvm::StringRef) {
  if (list) {
    for (const Study &study : getStudies()) {
      llvm::outs() << study.name << ": " << study.description << "\n";
      for (const StudyStep &step : study.steps) {
        llvm::outs() << "  cs336-bench " << step.command;
        for (auto [flag, value] : step.flags)
          llvm::outs() << " --" << flag << (value.empty() ? "" : " ") << value;
        llvm::outs() << "\n";
      }
    }
    return absl::OkStatus();
  }
  for (const Study &study : getStudies())
    if (study.name == name)
      return runAll(study);
  auto names = llvm::map_to_vector(getStudies(), [](const Study &study) { return study.name; });
  return absl::InvalidArgumentError(name.empty() ? "say which study: " + llvm::join(names, ", ")
                                                 : describeUnknown("study", name, names));
}
