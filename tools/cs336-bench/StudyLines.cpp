//===- StudyLines.cpp - The command lines of a study ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyLines.h"

#include "cs336/Bench/Command/Distribution.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Published/PublishedFigures.h"
#include "cs336/Frontend/TransformerConfig.h"
#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "absl/strings/str_cat.h"

#include <map>

using namespace cs336;
using namespace cs336::bench;

bool cs336::bench::hasFlag(llvm::ArrayRef<Command *> commands, llvm::StringRef command, llvm::StringRef flag) {
  return llvm::any_of(commands, [&](Command *known) {
    return known->getSubCommand().getName() == command && known->getSubCommand().OptionsMap.contains(flag);
  });
}

StudyFlags cs336::bench::getStepFlags(const Study &study, const StudyStep &step, llvm::ArrayRef<Command *> commands,
                                      Edition edition, bool isSmall) {
  StudyFlags flags = step.getFlags(edition, isSmall);
  if (hasFlag(commands, step.command, "published") && llvm::is_contained(getPublishedStudies(), study.name))
    flags.emplace_back("published", study.name);
  return flags;
}

std::string cs336::bench::describeLine(llvm::ArrayRef<std::string> line) {
  return "cs336-bench " + llvm::join(line, " ");
}

/// Returns the name of the flag: "length" for "--length" and "--length=4".
static llvm::StringRef getFlagName(llvm::StringRef argument) {
  return argument.starts_with("-") ? argument.ltrim('-').split('=').first : llvm::StringRef();
}

/// Flags that conflict with each other, as pairs of a flag and the one under whose name they are compared.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kAlternatives[] = {
    {"context-length", "length"}, {"global-batch", "batch-size"}, {"ladder", "fusion"},
    {"backward", "mode"},         {"include-optimizer", "mode"},  {"best-checkpoint", "checkpoint"}};

/// Returns the flag in the spelling of studies: published scripts write underscores. Conflicting flags have one
/// spelling, so that a given flag replaces the study's.
static std::string normalize(llvm::StringRef flag) {
  std::string text = flag.str();
  llvm::replace(text, '_', '-');
  const auto *found = llvm::find_if(kAlternatives, [&](const auto &pair) { return pair.first == text; });
  return found == std::end(kAlternatives) ? text : found->second.str();
}

/// Returns the value of a flag that is given as "--flag value" or "--flag=value".
static llvm::StringRef getValue(llvm::ArrayRef<std::string> flag) {
  llvm::StringRef first = flag.front();
  return first.contains('=') ? first.split('=').second : flag.size() > 1 ? llvm::StringRef(flag[1]) : "";
}

/// Returns true if the given flag replaces the study's, or leaves it without an effect, which its command rejects:
/// bucket sizes require a mode with buckets.
static bool isReplacedBy(llvm::StringRef flag, llvm::ArrayRef<std::string> given) {
  llvm::StringRef name = getFlagName(given.front());
  if (flag == "bucket-mib" && name == "distribute")
    return llvm::none_of(llvm::split(getValue(given), ","), [](llvm::StringRef mode) {
      std::optional<Distribution> distribution = symbolizeDistribution(mode);
      return distribution && hasBuckets(*distribution);
    });
  return normalize(name) == normalize(flag);
}

/// Replaces the edition's names of sizes by those of this tool.
static void renameSizes(Edition edition, StudyLine &flag) {
  std::string value = getValue(flag).str(), name = getFlagName(flag.front()).str();
  std::string renamed = llvm::join(
      llvm::map_range(llvm::split(value, ","), [&](llvm::StringRef size) { return getSizeOf(edition, size); }), ",");
  flag = {"--" + name, renamed};
}

absl::Status StudyArguments::parse(llvm::ArrayRef<std::string> words, bool isFull, Edition editionBefore) {
  full = isFull;
  edition = editionBefore;
  for (const std::string &word : words) {
    llvm::StringRef name = getFlagName(word);
    if (name.empty() && given.empty())
      return absl::InvalidArgumentError(absl::StrCat("'", word, "' is not a flag"));
    if (name == "help" || word == "-h") {
      help = true;
    } else if (name == "full") {
      full = true;
    } else if (name == "forecast") {
      forecast = true;
    } else {
      if (!name.empty())
        given.emplace_back();
      given.back().push_back(word);
    }
  }
  auto isEdition = [](const StudyLine &flag) { return getFlagName(flag.front()) == "edition"; };
  for (const StudyLine &flag : llvm::make_filter_range(given, isEdition)) {
    std::optional<Edition> found = parseEdition(getValue(flag));
    if (!found)
      return absl::InvalidArgumentError(describeUnknown("edition", getValue(flag), getEditionNames()));
    edition = *found;
  }
  llvm::erase_if(given, isEdition);
  auto isFolder = [](const StudyLine &flag) { return getFlagName(flag.front()) == "out"; };
  for (const StudyLine &flag : llvm::make_filter_range(given, isFolder))
    folder = getValue(flag).str();
  llvm::erase_if(given, isFolder);
  for (StudyLine &flag : given) {
    llvm::StringRef name = getFlagName(flag.front());
    if (edition == Edition::Of2026 && (name == "size" || name.ends_with(".size")))
      renameSizes(edition, flag);
    if (name == "device")
      isOnCPU = getValue(flag) == "cpu";
    json |= name == "format" && getValue(flag) == "json";
  }
  return absl::OkStatus();
}

/// Returns the name of the flag for the command, or an empty text if it is for another one: "--model.steps" is for
/// model alone.
static llvm::StringRef getNameFor(const StudyLine &flag, llvm::StringRef command) {
  llvm::StringRef name = getFlagName(flag.front());
  auto [scope, rest] = name.split('.');
  if (rest.empty())
    return name;
  return scope == command ? rest : "";
}

/// Returns true if the flag is for other commands because of its value: `--size small` is for those that describe a
/// model, and `--size 1MiB` for those that do not.
static bool isForOthers(const StudyLine &flag, llvm::StringRef command, llvm::ArrayRef<Command *> commands) {
  if (getFlagName(flag.front()) != "size")
    return false;
  llvm::SmallVector<llvm::StringRef> models = TransformerConfig::getSizeNames();
  bool isBytes = llvm::all_of(llvm::split(getValue(flag), ","), [&](llvm::StringRef value) {
    return !value.empty() && llvm::isDigit(value.front()) && !llvm::is_contained(models, value);
  });
  return isBytes == hasFlag(commands, command, "d-model");
}

/// Returns the flag without the command that it is for.
static StudyLine dropScope(StudyLine flag, llvm::StringRef name) {
  size_t equals = flag.front().find('=');
  flag.front() = "--" + name.str() + (equals == std::string::npos ? "" : flag.front().substr(equals));
  return flag;
}

/// Returns true if the step receives the given flag: its command has it, and no other step has it as its own.
static bool receives(const Study &study, const StudyStep &step, llvm::ArrayRef<Command *> commands,
                     const StudyLine &flag) {
  llvm::StringRef name = getNameFor(flag, step.command);
  return !name.empty() && hasFlag(commands, step.command, name) && !isForOthers(flag, step.command, commands) &&
         !study.isOfOtherStep(normalize(name), step);
}

/// Returns the flags that the step receives. One for its command alone replaces one for all.
static std::vector<StudyLine> selectFlags(llvm::ArrayRef<StudyLine> given, llvm::ArrayRef<Command *> commands,
                                          const Study &study, const StudyStep &step) {
  auto isScoped = [](const StudyLine &flag) { return getFlagName(flag.front()).contains('.'); };
  std::vector<StudyLine> selected;
  for (const StudyLine &flag : given) {
    if (!receives(study, step, commands, flag))
      continue;
    llvm::StringRef name = getNameFor(flag, step.command);
    bool isReplaced = !isScoped(flag) && llvm::any_of(given, [&](const StudyLine &other) {
      return isScoped(other) && normalize(getNameFor(other, step.command)) == normalize(name);
    });
    if (!isReplaced)
      selected.push_back(isScoped(flag) ? dropScope(flag, name) : flag);
  }
  return selected;
}

absl::Status StudyArguments::check(llvm::ArrayRef<Study> studies, llvm::ArrayRef<Command *> commands) const {
  for (const StudyLine &flag : given) {
    auto isReceived = [&](bool onGPU) {
      return llvm::any_of(studies, [&](const Study &study) {
        return llvm::any_of(study.getSteps(onGPU, edition),
                            [&](const StudyStep *step) { return receives(study, *step, commands, flag); });
      });
    };
    if (isReceived(isOnGPU()))
      continue;
    std::string name = studies.size() == 1 ? "the study " + studies.front().name.str() : "any study";
    if (isReceived(/*onGPU=*/true))
      return absl::InvalidArgumentError(absl::StrCat("--", getFlagName(flag.front()).str(),
                                                     " requires --device cuda: the command of ", name,
                                                     " that has it runs only on GPUs"));
    llvm::StringRef own = getFlagName(flag.front());
    return absl::InvalidArgumentError(absl::StrCat(
        "no command of ", name, own == "size" ? " takes --size " + getValue(flag).str() : " has a flag --" + own.str(),
        "; cs336-bench study --list shows its commands"));
  }
  return absl::OkStatus();
}

bool StudyArguments::isGiven(llvm::StringRef name) const {
  return llvm::any_of(given, [&](const StudyLine &flag) {
    llvm::StringRef own = getFlagName(flag.front());
    return own == name || own.split('.').second == name;
  });
}

bool StudyArguments::mayLeaveOut(const StudyStep &step) const {
  return !step.ownFlags.empty() && llvm::none_of(given, [&](const StudyLine &flag) {
    return llvm::is_contained(step.ownFlags, normalize(getNameFor(flag, step.command)));
  });
}

std::vector<StudyLine> StudyArguments::expand(const Study &study, llvm::ArrayRef<Command *> commands, bool onGPU,
                                              bool small) const {
  std::vector<StudyLine> lines;
  for (const StudyStep *step : study.getSteps(onGPU, edition)) {
    StudyLine &line = lines.emplace_back();
    line.push_back(step->command.str());
    std::vector<StudyLine> own = selectFlags(given, commands, study, *step);
    for (const auto &[flag, value] : getStepFlags(study, *step, commands, edition, small)) {
      if (llvm::any_of(own, [&, name = flag](const StudyLine &other) { return isReplacedBy(name, other); }))
        continue;
      line.push_back("--" + flag.str());
      if (!value.empty())
        line.push_back(value.str());
    }
    for (const StudyLine &flag : own)
      llvm::append_range(line, flag);
  }
  return lines;
}

/// Returns the word of the line that contains the path of --output, or null if there is none.
static std::string *findOutput(StudyLine &line, size_t &prefix) {
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

/// Gives every line a file of its own, named after its command: "all-model.csv" and "all-model-2.csv" for "all.csv".
/// Returns whether --output was given.
bool cs336::bench::separateOutputs(std::vector<StudyLine> &lines) {
  std::map<std::string, int> counts;
  bool isGiven = false;
  for (StudyLine &line : lines) {
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
