//===- Cell.cpp - One value of a table ------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/Cell.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace cs336::bench;
namespace json = llvm::json;

Cell Cell::number(std::optional<double> number, int digits) {
  if (!number)
    return empty();
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, *number);
  return {std::move(text), *number};
}

Cell Cell::mebibytes(std::optional<int64_t> bytes) {
  constexpr double kMebi = 1 << 20;
  return bytes ? number(static_cast<double>(*bytes) / kMebi, 1) : empty();
}

Cell Cell::list(llvm::ArrayRef<double> numbers, int digits) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(numbers, stream, [&](double number) { stream << llvm::format("%.*f", digits, number); }, " ");
  return {std::move(text), json::Array(numbers)};
}
