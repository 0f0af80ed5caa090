//===- FlagParsers.h - Parsers that reject unusable values of flags -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_FLAGPARSERS_H
#define CS336_DRIVER_FLAGS_FLAGPARSERS_H

#include "cs336/Driver/Flags/ListFlag.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <string>

namespace cs336 {

/// Rejects an empty value. It would count as a flag that was not given, and usually comes from a shell variable that is
/// not set: `--params "$FILE"`.
class NonEmptyTextParser : public llvm::cl::parser<std::string> {
public:
  using parser::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, std::string &value) {
    if (text.empty())
      return option.error("the value is empty: pass a value, or omit the flag");
    return parser::parse(option, name, text, value);
  }
};

/// Shows "name" or "number" in --help, whether or not the flag's value string lists the values for shell completion.
class ValueNameParser : public llvm::cl::parser<std::string> {
public:
  using parser::parser;

  size_t getOptionWidth(const llvm::cl::Option &option) const {
    // "  --", the flag, the value, and " - ".
    return option.ArgStr.size() + 4 + getValue(option).size() + 3;
  }
  void printOptionInfo(const llvm::cl::Option &option, size_t width) const {
    llvm::outs() << "  --" << option.ArgStr << getValue(option);
    llvm::cl::Option::printHelpStr(option.HelpStr, width, getOptionWidth(option));
  }

private:
  static std::string getValue(const llvm::cl::Option &option) {
    return ("=<" + (option.ValueStr.contains('|') ? "name" : option.ValueStr) + ">").str();
  }
};

/// Rejects infinities and NaN, which LLVM's own parser accepts.
class FiniteNumberParser : public llvm::cl::parser<double> {
public:
  using parser::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, double &value) {
    if (parser::parse(option, name, text, value))
      return true;
    return !std::isfinite(value) && option.error("'" + text + "' is not a finite number");
  }
};

/// A flag whose value is a name or a path.
using TextFlag = llvm::cl::opt<std::string, /*ExternalStorage=*/false, NonEmptyTextParser>;

/// Flags whose value is a number or a list of numbers.
using RealFlag = llvm::cl::opt<double, /*ExternalStorage=*/false, FiniteNumberParser>;
using RealListFlag = ListFlag<double, FiniteNumberParser>;

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_FLAGPARSERS_H
