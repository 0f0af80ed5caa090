//===- ByteSize.cpp - Sizes of memory as people write them ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/ByteSize.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace cs336;

std::optional<int64_t> cs336::parseBytes(llvm::StringRef text) {
  static constexpr std::pair<llvm::StringLiteral, double> kUnits[] = {
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"kB", 1e3},     {"KB", 1e3},        {"MB", 1e6},           {"GB", 1e9},
      {"TB", 1e12},    {"B", 1.0}};
  double unit = 1;
  for (const auto &[suffix, factor] : kUnits) {
    if (text.consume_back(suffix)) {
      unit = factor;
      break;
    }
  }
  double number;
  // `getAsDouble` accepts an exponent without digits: "9E" of "9EB".
  if (text.trim().empty() || !llvm::isDigit(text.trim().back()) || text.trim().getAsDouble(number) ||
      !(number * unit >= 1) || number * unit > 9e18)
    return std::nullopt;
  return static_cast<int64_t>(number * unit);
}

std::string cs336::formatFlagBytes(int64_t bytes) {
  static constexpr std::pair<llvm::StringLiteral, double> kUnits[] = {
      {"GiB", 1073741824.0}, {"GB", 1e9}, {"MiB", 1048576.0}, {"MB", 1e6}};
  constexpr int kMostDigits = 3;
  auto amount = static_cast<double>(bytes);
  auto print = [](double number, int digits, llvm::StringRef suffix) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, number) << suffix;
    return text;
  };
  std::string shortest;
  for (int digits = 0; digits <= kMostDigits; ++digits)
    for (const auto &[suffix, unit] : kUnits) {
      std::string text = print(amount / unit, digits, suffix);
      if (parseBytes(text) == bytes && (shortest.empty() || text.size() < shortest.size()))
        shortest = std::move(text);
    }
  if (!shortest.empty())
    return shortest;
  for (const auto &[suffix, unit] : kUnits)
    if (amount >= unit)
      return print(std::floor(amount / unit * 1e3) / 1e3, kMostDigits, suffix);
  return std::to_string(bytes);
}

std::string cs336::formatBytes(uint64_t bytes) {
  constexpr double gibi = 1 << 30, mebi = 1 << 20, kibi = 1 << 10;
  auto amount = static_cast<double>(bytes);
  if (amount < kibi)
    return llvm::formatv("{0} bytes", bytes);
  // Fewer would be 0.0 MiB.
  if (amount < 0.05 * mebi)
    return llvm::formatv("{0:f1} KiB", amount / kibi);
  return amount >= gibi ? llvm::formatv("{0:f1} GiB", amount / gibi) : llvm::formatv("{0:f1} MiB", amount / mebi);
}
