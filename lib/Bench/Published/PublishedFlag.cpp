//===- PublishedFlag.cpp - Published figures beside results ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Published/PublishedFlag.h"

#include "cs336/Bench/Published/PublishedFigures.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "absl/strings/str_cat.h"

using namespace cs336::bench;
namespace cl = llvm::cl;

PublishedFlag::PublishedFlag(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : opt("published",
          cl::desc("Add a table of the figures that write-ups of this study have published, beside the results with "
                   "the same settings"),
          cl::value_desc("study"), cl::cat(category), cl::sub(subcommand)) {}

absl::Status PublishedFlag::check() const {
  std::vector<std::string> known = getPublishedStudies();
  if (getNumOccurrences() == 0 || llvm::is_contained(known, getValue()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--published is '", getValue(), "', a study without published figures: expected ", llvm::join(known, ", ")));
}

Report PublishedFlag::addTo(Report report) const {
  if (std::optional<Table> table = makePublishedTable(getValue(), report))
    report.tables.push_back(*std::move(table));
  return report;
}
