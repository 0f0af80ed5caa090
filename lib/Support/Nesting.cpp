//===- Nesting.cpp - Depth of IR before it is parsed ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scans malformed text too, because the parser reports its errors. Only the depth that the parser reaches before an
// error matters, which is never more than the depth found here.
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/Nesting.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <optional>
#include <string>

using namespace cs336;
using llvm::StringRef;

/// The limit of nested levels. Programs have about ten.
static constexpr size_t kMaxNesting = 256;

namespace {
class NestingScanner {
public:
  explicit NestingScanner(StringRef text) : text(text) {}

  /// Returns the position at which the text is nested too deeply, or nullopt.
  std::optional<size_t> run();

private:
  /// Moves past the token at `position`. Fails if it is nested too deeply.
  bool step();
  void skipString();
  bool enter(size_t levels);
  void close(char opening);
  bool useAlias();
  bool useOperator();
  bool readWord();

  StringRef text;
  size_t position = 0;
  /// Number of open brackets.
  std::string open;
  /// Numbers of operators of the current affine expressions: outside of brackets, and in each open bracket.
  llvm::SmallVector<size_t> operators = {0};
  /// Depths of the aliases defined so far, and the alias that is being read, if any.
  llvm::StringMap<size_t> aliases;
  std::string definition;
  bool hasValue = false; // The text after `=` has begun.
};
} // namespace

void NestingScanner::skipString() {
  ++position;
  while (position < text.size() && text[position] != '"' && text[position] != '\n')
    position += text[position] == '\\' ? 2 : 1;
  ++position;
}

/// Records the depth of a token that is `levels` deeper than the open brackets.
bool NestingScanner::enter(size_t levels) {
  levels += open.size();
  if (!definition.empty()) {
    size_t &depth = aliases[definition];
    depth = std::max(depth, levels);
  }
  return levels <= kMaxNesting;
}

void NestingScanner::close(char opening) {
  // "a < b" does not open a bracket, which becomes clear when the enclosing bracket is closed.
  if (opening != '<')
    while (!open.empty() && open.back() == '<')
      open.pop_back();
  if (!open.empty() && open.back() == opening)
    open.pop_back();
  operators.resize(open.size() + 1);
}

/// Records one level per operator: the parser recurses for each, with parentheses or without.
bool NestingScanner::useOperator() { return enter(++operators.back()); }

bool NestingScanner::readWord() {
  StringRef word = text.substr(position).take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  position += word.size();
  return (word != "mod" && word != "floordiv" && word != "ceildiv") || useOperator();
}

/// Moves past "#" or "!" and the name that follows, which is an alias if it has no dialect.
bool NestingScanner::useAlias() {
  size_t end = ++position;
  while (end < text.size() && (llvm::isAlnum(text[end]) || StringRef("_$.-").contains(text[end])) &&
         !text.substr(end).starts_with("->"))
    ++end;
  StringRef name = text.slice(position - 1, end); // The name includes its first character: "#x" and "!x" are different.
  position = end;
  StringRef rest = text.substr(end).ltrim(" \t");
  if (open.empty() && rest.starts_with("=") && !rest.starts_with("==")) {
    definition = name.str();
    hasValue = false;
    aliases[definition] = 0;
    return true;
  }
  return enter(aliases.lookup(name));
}

bool NestingScanner::step() {
  if (llvm::isAlpha(text[position]))
    return readWord();
  switch (text[position]) {
  case '"':
    operators.back() = 0;
    skipString();
    return true;
  case '/':
    position =
        text.substr(position).starts_with("//") ? std::min(text.find('\n', position), text.size()) : position + 1;
    return true;
  case '#':
  case '!':
    return useAlias();
  case '\n':
    if (open.empty() && hasValue)
      definition.clear();
    break;
  case ',':
  case ':':
  case '=':
  case '@':
  case '%':
  case '^':
    // The token is not part of an affine expression.
    operators.back() = 0;
    break;
  case '-':
    if (text.substr(position).starts_with("->")) {
      operators.back() = 0;
      position += 2;
      return true;
    }
    [[fallthrough]];
  case '+':
  case '*':
    ++position;
    return useOperator();
  case '<':
    if (text.substr(position).starts_with("<=")) {
      ++position;
      break;
    }
    [[fallthrough]];
  case '(':
  case '[':
  case '{':
    open.push_back(text[position]);
    operators.push_back(0);
    ++position;
    return enter(0);
  case '>':
    if (!text.substr(position).starts_with(">="))
      close('<');
    break;
  case ')':
    close('(');
    break;
  case ']':
    close('[');
    break;
  case '}':
    close('{');
    break;
  default:
    break;
  }
  ++position;
  return true;
}

std::optional<size_t> NestingScanner::run() {
  while (position < text.size()) {
    size_t begin = position;
    hasValue |= !StringRef(" \t\r\n=/").contains(text[begin]);
    if (!step())
      return begin;
  }
  return std::nullopt;
}

llvm::Error cs336::checkNesting(llvm::MemoryBufferRef text) {
  StringRef buffer = text.getBuffer();
  if (buffer.starts_with("ML\xEFR"))
    return llvm::Error::success();
  std::optional<size_t> place = NestingScanner(buffer).run();
  if (!place)
    return llvm::Error::success();
  StringRef before = buffer.take_front(*place);
  return llvm::createStringError(llvm::formatv("{0}:{1}:{2}: nested deeper than {3} levels, the most that is accepted",
                                               text.getBufferIdentifier(), before.count('\n') + 1,
                                               before.size() - (before.rfind('\n') + 1) + 1, kMaxNesting));
}

llvm::Error cs336::checkIsReadableIR(llvm::MemoryBufferRef file) {
  if (file.getBuffer().starts_with("ML\xEFR"))
    return llvm::createStringError(file.getBufferIdentifier() +
                                   " is MLIR bytecode, and IR must be text: convert a file that you trust by "
                                   "cs336-opt FILE -o FILE.mlir");
  return checkNesting(file);
}
