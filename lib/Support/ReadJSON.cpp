//===- ReadJSON.cpp - JSON that people write ------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/ReadJSON.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using llvm::createStringError;
using llvm::Error;
using llvm::StringRef;

static constexpr StringRef kByteOrderMark = "\xEF\xBB\xBF";
static constexpr StringRef kSpace = " \t\r\n";

/// The parser recurses, so deeper text must not reach it.
static constexpr size_t kMaxJSONLevels = 16;

/// Removes a string literal with its quotes from the front of `text`, or all of the text if the literal does not end.
static StringRef takeString(StringRef &text) {
  size_t end = 1;
  while (end < text.size() && text[end] != '"')
    end += text[end] == '\\' ? 2 : 1;
  StringRef literal = text.take_front(end + 1);
  text = text.drop_front(literal.size());
  return literal;
}

/// Removes the characters that llvm::json reads as a number from the front of `text`.
static StringRef takeNumber(StringRef &text) {
  StringRef number = text.take_while([](char c) { return llvm::isDigit(c) || StringRef("+-.eE").contains(c); });
  text = text.drop_front(number.size());
  return number;
}

static StringRef takeDigits(StringRef &text) {
  StringRef digits = text.take_while([](char c) { return llvm::isDigit(c); });
  text = text.drop_front(digits.size());
  return digits;
}

/// Returns whether `text` is a number by the grammar of RFC 8259.
static bool isJSONNumber(StringRef text) {
  text.consume_front("-");
  StringRef integer = takeDigits(text);
  if (integer.empty() || (integer.size() > 1 && integer.front() == '0'))
    return false;
  if (text.consume_front(".") && takeDigits(text).empty())
    return false;
  if (text.consume_front_insensitive("e")) {
    if (!text.consume_front("+"))
      text.consume_front("-");
    if (takeDigits(text).empty())
      return false;
  }
  return text.empty();
}

namespace {
/// Finds errors that the parser does not check, in one pass over the text, which may be malformed.
class Scanner {
public:
  Error run(StringRef text);

private:
  Error open(bool isObject) {
    if (levels.size() == kMaxJSONLevels)
      return createStringError(llvm::formatv("nested deeper than {0} levels", kMaxJSONLevels));
    levels.push_back({isObject, {}});
    return Error::success();
  }
  /// Enters a key of the innermost object.
  Error addKey(StringRef literal);

  struct Level {
    bool isObject;
    llvm::StringSet<> keys;
  };
  llvm::SmallVector<Level> levels;
};
} // namespace

Error Scanner::addKey(StringRef literal) {
  // Escapes are resolved: "a" and "\u0061" are the same key.
  llvm::Expected<llvm::json::Value> key = llvm::json::parse(literal);
  if (!key) {
    llvm::consumeError(key.takeError());
    return Error::success(); // The parser reports it with its position.
  }
  StringRef name = *key->getAsString();
  if (levels.back().keys.insert(name).second)
    return Error::success();
  return createStringError(llvm::formatv("the key '{0}' occurs twice in one object", name));
}

Error Scanner::run(StringRef text) {
  while (!text.empty()) {
    char c = text.front();
    if (c == '"') {
      StringRef literal = takeString(text);
      if (!levels.empty() && levels.back().isObject && text.ltrim(kSpace).starts_with(":"))
        if (Error error = addKey(literal))
          return error;
      continue;
    }
    if (c == '-' || c == '+' || c == '.' || llvm::isDigit(c)) {
      if (StringRef number = takeNumber(text); !isJSONNumber(number))
        return createStringError(llvm::formatv("malformed JSON: '{0}' is not a number", number));
      continue;
    }
    if (c == '{' || c == '[') {
      if (Error error = open(c == '{'))
        return error;
    } else if ((c == '}' || c == ']') && !levels.empty()) {
      levels.pop_back();
    }
    text = text.drop_front();
  }
  return Error::success();
}

llvm::Expected<llvm::json::Value> cs336::readJSON(StringRef text) {
  text.consume_front(kByteOrderMark);
  if (Error error = Scanner().run(text))
    return error;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return createStringError("malformed JSON: " + llvm::toString(value.takeError()));
  return value;
}
