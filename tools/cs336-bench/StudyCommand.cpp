//===- StudyCommand.cpp - cs336-bench study -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyCommand.h"

#include "StudyForecast.h"
#include "StudyHelp.h"
#include "StudyProcess.h"
#include "StudySeries.h"
#include "cs336/Bench/Peer/PeerFailure.h"
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
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

#include <optional>

using namespace cs336::bench;
namespace cl = llvm::cl;

static constexpr llvm::StringLiteral kStudyDescription = "runs the measurements of a published study";

StudyCommand::StudyCommand(std::string program, llvm::ArrayRef<Command *> commands)
    : program(std::move(program)), commands(commands.begin(), commands.end()),
      names(llvm::join(llvm::map_range(getStudies(), [](const Study &study) { return study.name; }), "|") + "|all"),
      commandNames(llvm::join(
          llvm::map_range(commands, [](Command *command) { return command->getSubCommand().getName(); }), "|")),
      subcommand("study", kStudyDescription),
      list("list", cl::desc("List the studies and their commands"), cl::cat(category), cl::sub(subcommand)),
      full("full", cl::desc("Measure on the CPU, too, what a study measures on a GPU; may follow the study's name"),
           cl::cat(category), cl::sub(subcommand)),
      edition("edition", cl::desc("Year of the assignment (default 2025); may follow the study's name"),
              cl::init(Edition::Of2025),
              cl::values(clEnumValN(Edition::Of2025, "2025", "small, medium, large, xl, 2.7B, as in most write-ups"),
                         clEnumValN(Edition::Of2026, "2026",
                                    "small, medium, large, xl (2.7B here), 10B; context 512 unless a problem gives "
                                    "others")),
              cl::cat(category), cl::sub(subcommand)),
      out("out",
          cl::desc("Folder for the results of 'study all', which runs every study: a JSON document per command, and a "
                   "report. If run again with the same folder, it resumes where it was interrupted"),
          cl::value_desc("folder"), cl::cat(category), cl::sub(subcommand)),
      name(cl::Positional, cl::desc("<study>"), cl::value_desc(names), cl::cat(category), cl::sub(subcommand)),
      arguments(cl::ConsumeAfter,
                cl::desc("[flags of the commands that it runs, instead of the study's; --output FILE of several "
                         "commands writes FILE-COMMAND, and --help describes the study]"),
                cl::value_desc(commandNames), cl::cat(category), cl::sub(subcommand)) {}

void StudyCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

std::vector<ColumnHead> StudyCommand::getColumns() const { return {}; }

absl::Status StudyCommand::printDocument(const StudyLine &line, llvm::StringRef &separator) const {
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("cs336-study", "json", path))
    return absl::UnavailableError(absl::StrCat("a temporary file cannot be made: ", error.message()));
  llvm::FileRemover remover(path);
  absl::Status status = runStudyLine(program, line, path);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> document = llvm::MemoryBuffer::getFile(path);
  if (!document || (*document)->getBufferSize() == 0)
    return status;
  llvm::outs() << separator << (*document)->getBuffer();
  llvm::outs().flush();
  separator = ",\n";
  return status;
}

/// Returns true if the study measures less than on a GPU.
static bool isReduced(const Study &study, const StudyArguments &arguments) {
  return arguments.isSmall() && llvm::any_of(study.steps, [](const StudyStep &step) { return !step.cpuFlags.empty(); });
}

void StudyCommand::announce(const Study &study, const StudyArguments &parsed, const StudySelection &selection) const {
  const std::vector<StudyLine> &lines = selection.lines;
  const Forecast &forecast = selection.forecast;
  llvm::errs() << "study " << study.name
               << (parsed.getEdition() == Edition::Of2025 ? ""
                                                          : ", edition " + stringifyEdition(parsed.getEdition()).str())
               << ": " << lines.size() << (lines.size() == 1 ? " command, " : " commands, ") << summarize(forecast)
               << "\n";
  if (forecast.memoryBytes)
    llvm::errs() << "  the largest is " << forecast.largest << "; each command prints the basis of both\n";
  if (isReduced(study, parsed))
    llvm::errs() << "  this is the grid of the CPU, sized for a laptop; --full measures the whole grid\n";
}

absl::Status StudyCommand::runAll(const Study &study) const {
  StudyArguments parsed;
  absl::Status status = parsed.parse(std::vector<std::string>(arguments.begin(), arguments.end()), full, edition);
  if (status.ok() && parsed.wantsHelp())
    return writeStudyHelp(study, parsed, program, commands, llvm::outs());
  if (status.ok())
    status = parsed.check(study, commands);
  if (status.ok() && !getFolder(parsed).empty())
    status = absl::InvalidArgumentError("--out is for 'study all'; a study alone takes --output");
  if (!status.ok())
    return status;
  if (!parsed.wantsForecast())
    catchInterruptions();
  absl::StatusOr<StudySelection> selection = selectCommands(study, parsed, program, commands);
  if (!selection.ok())
    return selection.status();
  for (const std::string &command : selection->leftOut)
    llvm::WithColor::note(llvm::errs(), "cs336-bench") << "left out: " << command << "\n";
  if (parsed.wantsForecast()) {
    llvm::outs() << llvm::json::Value(selection->forecast.toJSON()) << "\n";
    return absl::OkStatus();
  }
  announce(study, parsed, *selection);
  std::vector<StudyLine> &lines = selection->lines;
  bool hasFiles = separateOutputs(lines);
  bool isArray = !hasFiles && parsed.isJSON() && lines.size() > 1;
  llvm::outs() << (isArray ? "[\n" : "");
  llvm::StringRef separator;
  size_t complete = 0;
  absl::Status missing;
  for (const StudyLine &line : lines) {
    if (isArray) {
      status = printDocument(line, separator);
    } else {
      llvm::outs() << separator;
      llvm::outs().flush();
      separator = hasFiles ? "" : "\n";
      status = runStudyLine(program, line, std::nullopt);
    }
    if (isPeerMissing(status))
      missing = std::exchange(status, absl::OkStatus());
    complete += status.ok();
    if (!status.ok() || getInterruption() != 0)
      break;
  }
  llvm::outs() << (isArray ? "]\n" : "");
  llvm::outs().flush();
  if (getInterruption() != 0)
    status = checkInterruption();
  if (complete == lines.size() && isReduced(study, parsed))
    llvm::errs() << "next: cs336-bench study " << study.name
                 << " --full measures the whole grid, of which this was the "
                 << "part for CPUs\n";
  if (complete == lines.size())
    return missing;
  return describeEarlyEnd(status, complete, lines.size(), "commands are not complete");
}

llvm::StringRef StudyCommand::getFolder(const StudyArguments &parsed) const {
  return parsed.getFolder().empty() ? llvm::StringRef(out) : parsed.getFolder();
}

absl::Status StudyCommand::runEvery() const {
  StudyArguments parsed;
  absl::Status status = parsed.parse(std::vector<std::string>(arguments.begin(), arguments.end()), full, edition);
  if (status.ok())
    status = parsed.check(getStudies(), commands);
  if (!status.ok())
    return status;
  if (getFolder(parsed).empty())
    return absl::InvalidArgumentError("study all requires --out, the folder for its results");
  for (llvm::StringRef flag : {"format", "output", "columns"})
    if (parsed.isGiven(flag))
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag.str(), " conflicts with 'study all', which writes every format to --out"));
  if (parsed.wantsForecast())
    return absl::InvalidArgumentError(
        "--forecast conflicts with 'study all': each study has it, as in cs336-bench study "
        "nsys_profile --forecast");
  catchInterruptions();
  return StudySeries(program, commands, getFolder(parsed)).run(parsed);
}

absl::Status StudyCommand::run(llvm::StringRef) {
  if (list) {
    for (const Study &study : getStudies()) {
      llvm::outs() << study.name << ": " << study.description << "\n";
      for (const StudyStep *step : study.getSteps(/*isOnGPU=*/true, edition)) {
        llvm::outs() << "  cs336-bench " << step->command;
        for (auto [flag, value] : getStepFlags(study, *step, commands, edition, /*isSmall=*/false))
          llvm::outs() << " --" << flag << (value.empty() ? "" : " ") << value;
        llvm::outs() << "\n";
      }
      if (!study.aliases.empty())
        llvm::outs() << "  also called " << llvm::join(study.aliases, ", ") << "\n";
    }
    return absl::OkStatus();
  }
  if (name == "all")
    return runEvery();
  for (const Study &study : getStudies())
    if (study.isCalled(name))
      return runAll(study);
  auto names = llvm::map_to_vector(getStudies(), [](const Study &study) { return study.name; });
  if (name.empty())
    return absl::InvalidArgumentError("no study is given: expected " + llvm::join(names, ", "));
  for (const Study &study : getStudies())
    names.append(study.aliases.begin(), study.aliases.end());
  return absl::InvalidArgumentError(describeUnknownOfMany("study", name, names, "cs336-bench study --list"));
}
