//===- Completion.cpp - Shell completion ----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tool/Completion.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"

#include <algorithm>

using namespace llvm;

namespace {
/// A command line whose last word is incomplete.
class Line {
public:
  explicit Line(ArrayRef<StringRef> words);

  std::vector<std::string> complete();

private:
  void findSubCommand();
  /// The subcommands whose flags the line may contain.
  SmallVector<cl::SubCommand *> getFlagOwners() const;
  const cl::Option *findFlag(StringRef word) const;
  /// Returns whether the next word is the flag's value.
  bool takesNextWord(StringRef word) const;

  void addSubCommands();
  void addFlags();
  /// Adds each choice that starts with `text`, after `prefix`.
  void addChoices(const cl::Option &option, StringRef text, const Twine &prefix = "");
  void addPositional();

  void add(const Twine &candidate) { candidates.push_back(candidate.str()); }

  /// Complete words after the subcommand.
  SmallVector<StringRef> before;
  StringRef current;
  /// The flag whose value is the current word, if the shell split the line at '='.
  StringRef flagBeforeEquals;
  cl::SubCommand *subcommand = &cl::SubCommand::getTopLevel();
  std::vector<std::string> candidates;
};
} // namespace

static SmallVector<StringRef> getChoices(const cl::Option &option) {
  SmallVector<StringRef> choices;
  if (option.ValueStr.contains('|'))
    option.ValueStr.split(choices, '|');
  return choices;
}

static bool isFlag(StringRef word) { return word.size() > 1 && word.starts_with("-"); }

Line::Line(ArrayRef<StringRef> words) : before(words) {
  if (before.empty())
    return;
  current = before.pop_back_val();
  if (current == "=" && !before.empty()) {
    flagBeforeEquals = before.pop_back_val();
    current = "";
  } else if (before.size() > 1 && before.back() == "=") {
    before.pop_back();
    flagBeforeEquals = before.pop_back_val();
  }
}

void Line::findSubCommand() {
  for (cl::SubCommand *known : cl::getRegisteredSubcommands()) {
    if (known->getName().empty() || before.empty() || known->getName() != before.front())
      continue;
    subcommand = known;
    before.erase(before.begin());
    return;
  }
}

SmallVector<cl::SubCommand *> Line::getFlagOwners() const {
  SmallVector<cl::SubCommand *> owners{subcommand};
  if (!subcommand->ConsumeAfterOpt)
    return owners;
  for (StringRef name : getChoices(*subcommand->ConsumeAfterOpt))
    for (cl::SubCommand *other : cl::getRegisteredSubcommands())
      if (other->getName() == name)
        owners.push_back(other);
  return owners;
}

const cl::Option *Line::findFlag(StringRef word) const {
  for (cl::SubCommand *owner : getFlagOwners())
    if (const cl::Option *option = owner->OptionsMap.lookup(word.ltrim('-')))
      return option;
  return nullptr;
}

bool Line::takesNextWord(StringRef word) const {
  if (!isFlag(word) || word.contains('='))
    return false;
  const cl::Option *option = findFlag(word);
  return option && option->hasArgStr() && option->getValueExpectedFlag() == cl::ValueRequired;
}

void Line::addSubCommands() {
  for (cl::SubCommand *known : cl::getRegisteredSubcommands())
    if (!known->getName().empty() && known->getName().starts_with(current))
      add(known->getName());
}

void Line::addFlags() {
  for (cl::SubCommand *owner : getFlagOwners()) {
    for (const auto &[name, option] : owner->OptionsMap) {
      // Passes are values of a hidden option: `--help` lists the project's in a section of their own.
      bool isPass = mlir::PassInfo::lookup(name) || mlir::PassPipelineInfo::lookup(name);
      bool isShown = option->getOptionHiddenFlag() == cl::NotHidden || isPass;
      std::string spelled = ((name.size() == 1 ? "-" : "--") + name).str();
      if (isShown && StringRef(spelled).starts_with(current))
        add(spelled);
    }
  }
}

void Line::addChoices(const cl::Option &option, StringRef text, const Twine &prefix) {
  size_t begin = text.rfind(',') == StringRef::npos ? 0 : text.rfind(',') + 1;
  for (StringRef choice : getChoices(option))
    if (choice.starts_with(text.substr(begin)))
      add(prefix + text.take_front(begin) + choice);
}

void Line::addPositional() {
  size_t position = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (takesNextWord(before[i]))
      ++i;
    else if (!isFlag(before[i]))
      ++position;
  }
  if (position < subcommand->PositionalOpts.size())
    addChoices(*subcommand->PositionalOpts[position], current);
}

std::vector<std::string> Line::complete() {
  bool isFirst = before.empty() && flagBeforeEquals.empty();
  findSubCommand();
  if (!flagBeforeEquals.empty()) {
    if (const cl::Option *option = findFlag(flagBeforeEquals))
      addChoices(*option, current);
  } else if (!before.empty() && takesNextWord(before.back())) {
    addChoices(*findFlag(before.back()), current);
  } else if (isFlag(current) && current.contains('=')) {
    auto [flag, text] = current.split('=');
    if (const cl::Option *option = findFlag(flag))
      addChoices(*option, text, flag + "=");
  } else if (current.starts_with("-")) {
    addFlags();
  } else {
    if (isFirst)
      addSubCommands();
    addPositional();
  }
  llvm::sort(candidates);
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  return std::move(candidates);
}

std::vector<std::string> cs336::completeLine(ArrayRef<StringRef> words) { return Line(words).complete(); }
