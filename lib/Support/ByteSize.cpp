//===- ByteSize.cpp - Sizes of memory as people write them ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/ByteSize.h"

#include "llvm/Support/FormatVariadic.h"

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
  if (text.trim().getAsDouble(number) || !(number * unit >= 1) || number * unit > 9e18)
    return std::nullopt;
  return static_cast<int64_t>(number * unit);
}

std::string cs336::formatBytes(uint64_t bytes) {
  constexpr double gibi = 1 << 30, mebi = 1 << 20;
  auto amount = static_cast<double>(bytes);
  return amount >= gibi ? llvm::formatv("{0:f1} GiB", amount / gibi) : llvm::formatv("{0:f1} MiB", amount / mebi);
}
