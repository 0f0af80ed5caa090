//===- StudyLines.cpp - The command lines of a study ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyLines.h"

#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "absl/strings/str_cat.h"

#include <map>

using namespace cs336::bench;

bool cs336::bench::hasFlag(llvm::ArrayRef<Command *> commands, llvm::StringRef command, llvm::StringRef flag) {
  return llvm::any_of(commands, [&](Command *known) {
    return known->getSubCommand().getName() == command && known->getSubCommand().OptionsMap.contains(flag);
  });
}

std::string cs336::bench::describeLine(llvm::ArrayRef<std::string> line) {
  return "cs336-bench " + llvm::join(line, " ");
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

/// The value of a flag that is given as "--flag value" or "--flag=value".
static llvm::StringRef getValue(llvm::ArrayRef<std::string> flag) {
  llvm::StringRef first = flag.front();
  return first.contains('=') ? first.split('=').second : flag.size() > 1 ? llvm::StringRef(flag[1]) : "";
}

/// Replaces the edition's names of sizes by those of this tool.
static void renameSizes(Edition edition, StudyLine &flag) {
  std::string value = getValue(flag).str();
  std::string renamed = llvm::join(
      llvm::map_range(llvm::split(value, ","), [&](llvm::StringRef name) { return getSizeOf(edition, name); }), ",");
  flag = {"--size", renamed};
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
  for (StudyLine &flag : given) {
    llvm::StringRef name = getFlagName(flag.front());
    if (name == "size")
      renameSizes(edition, flag);
    if (name == "device")
      isOnCPU = getValue(flag) == "cpu";
    json |= name == "format" && getValue(flag) == "json";
  }
  return absl::OkStatus();
}

absl::Status StudyArguments::expand(const Study &study, llvm::ArrayRef<Command *> commands, bool small,
                                    std::vector<StudyLine> &lines) const {
  for (const StudyLine &flag : given) {
    llvm::StringRef flagName = getFlagName(flag.front());
    if (llvm::none_of(study.steps, [&](const StudyStep &step) { return hasFlag(commands, step.command, flagName); }))
      return absl::InvalidArgumentError(absl::StrCat("no command of the study ", study.name.str(), " has a flag --",
                                                     flagName.str(), "; cs336-bench study --list says what it runs"));
  }
  for (const StudyStep &step : study.steps) {
    StudyLine &line = lines.emplace_back();
    line.push_back(step.command.str());
    for (const auto &[flag, value] : step.getFlags(edition, small)) {
      bool isReplaced = llvm::any_of(given, [&, wanted = normalize(flag)](const StudyLine &other) {
        llvm::StringRef otherName = getFlagName(other.front());
        return normalize(otherName) == wanted && hasFlag(commands, step.command, otherName);
      });
      if (isReplaced)
        continue;
      line.push_back("--" + flag.str());
      if (!value.empty())
        line.push_back(value.str());
    }
    for (const StudyLine &flag : given)
      if (hasFlag(commands, step.command, getFlagName(flag.front())))
        llvm::append_range(line, flag);
  }
  return absl::OkStatus();
}

/// The place of the path that --output names in the line; null if there is none.
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
