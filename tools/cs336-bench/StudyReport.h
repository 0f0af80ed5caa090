//===- StudyReport.h - The report of a series of studies --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDYREPORT_H
#define CS336_TOOLS_BENCH_STUDYREPORT_H

#include "Studies.h"
#include "StudyRecord.h"
#include "llvm/ADT/ArrayRef.h"

namespace cs336::bench {

/// Writes report.md, report.html, report.tex and report.typ into the folder: what became of each command, then the page
/// of each document, and those of the `pictures` that show it. The paths of pictures are relative to the folder. Each
/// file is written completely or not at all. Returns UNAVAILABLE if one cannot be written.
absl::Status writeStudyReport(llvm::StringRef folder, llvm::ArrayRef<StudyEntry> entries,
                              llvm::ArrayRef<std::string> pictures, Edition edition);

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDYREPORT_H
