//===- Real.cpp - Floating-point numbers in assembly ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's lexer reads `1.0e-3` as one number, and `1e-3` as an integer and the
// name `e`. Parsers of this dialect accept both.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace cs336;

AsmPrinter &cs336::operator<<(AsmPrinter &printer, Real real) {
  printer.printFloat(APFloat(real.value));
  return printer;
}

/// Returns the number at the start of `text` if it has an exponent and no decimal point ("1e-3", "-2E+5"), else "".
static StringRef getNumberWithoutPoint(StringRef text) {
  StringRef rest = text;
  rest.consume_front("-");
  StringRef digits = rest.take_while(llvm::isDigit);
  rest = rest.drop_front(digits.size());
  if (digits.empty() || !rest.consume_front_insensitive("e"))
    return "";
  if (!rest.consume_front("-"))
    rest.consume_front("+");
  StringRef exponent = rest.take_while(llvm::isDigit);
  rest = rest.drop_front(exponent.size());
  bool goesOn = !rest.empty() && (llvm::isAlnum(rest.front()) || StringRef("_.$").contains(rest.front()));
  return exponent.empty() || goesOn ? "" : text.drop_back(rest.size());
}

/// Consumes the tokens of a number that `getNumberWithoutPoint` returned.
static ParseResult skipNumberWithoutPoint(AsmParser &parser, StringRef number) {
  APInt digits;
  StringRef exponent;
  OptionalParseResult hasDigits = parser.parseOptionalInteger(digits);
  if (!hasDigits.has_value() || failed(*hasDigits) || parser.parseKeyword(&exponent))
    return failure();
  // The name is `e5` in `1e5`, and `e` in `1e-5` and `1e+5`.
  if (exponent.size() > 1)
    return success();
  if (number.contains('+') && parser.parsePlus())
    return failure();
  OptionalParseResult hasExponent = parser.parseOptionalInteger(digits);
  return failure(!hasExponent.has_value() || failed(*hasExponent));
}

FailureOr<Real> FieldParser<Real>::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  // The parser's buffer ends in NUL.
  StringRef number = getNumberWithoutPoint(loc.getPointer());
  double value;
  if (number.empty()) {
    if (failed(parser.parseFloat(value)))
      return failure();
    return Real(value);
  }
  if (skipNumberWithoutPoint(parser, number))
    return failure();
  if (number.getAsDouble(value) || !std::isfinite(value))
    return parser.emitError(loc) << "the number " << number << " does not fit into a float64";
  return Real(value);
}
