//===- StoredPage.h - The page of a report in its document ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A results document also contains what the command prints in the other formats: all tables, listings and notes, as
// text. Reports of several commands write these pages again.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_STOREDPAGE_H
#define CS336_BENCH_REPORT_STOREDPAGE_H

#include "cs336/Bench/Report/Report.h"

#include <optional>

namespace cs336::bench {

/// The member of a document that contains its page.
inline constexpr llvm::StringLiteral kPageKey = "page";

/// Returns the page of a report: "tables" with the columns that formats show, "listings" and "notes".
llvm::json::Object storePage(const Report &report);

/// Returns a report that every page format writes as the one that was stored. Its cells have no numbers. Returns
/// nullopt if the value is not a page.
std::optional<Report> loadPage(const llvm::json::Value &value);

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_STOREDPAGE_H
