//===- ProfileTable.cpp - Where the time of a run goes --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfileTable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using llvm::StringRef;

namespace {
struct Sum {
  absl::Duration total;
  int64_t runs = 0;
};
} // namespace

void cs336::printProfile(const runtime::CommandProfile &profile, llvm::raw_ostream &stream) {
  llvm::MapVector<std::pair<StringRef, StringRef>, Sum> sums;
  absl::Duration whole;
  for (const runtime::CommandProfile::Row &row : profile.rows()) {
    StringRef phase(row.command.phase.data(), row.command.phase.size());
    StringRef name(row.command.name.data(), row.command.name.size());
    Sum &sum = sums[{phase, name}];
    sum.total += row.total;
    sum.runs += row.runs;
    whole += row.total;
  }
  auto sorted = sums.takeVector();
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) { return a.second.total > b.second.total; });

  stream << "  share   total (ms)    mean (ms)     runs  phase      command\n";
  for (const auto &[key, sum] : sorted) {
    double milliseconds = absl::ToDoubleMilliseconds(sum.total);
    double share = whole > absl::ZeroDuration() ? absl::FDivDuration(sum.total, whole) : 0;
    stream << llvm::formatv("{0,7:P1} {1,12:F3} {2,12:F4} {3,8}  {4,-9}  {5}\n", share, milliseconds,
                            milliseconds / static_cast<double>(sum.runs), sum.runs, key.first, key.second);
  }
  stream << llvm::formatv("{0,7} {1,12:F3}\n", "all", absl::ToDoubleMilliseconds(whole));
}
