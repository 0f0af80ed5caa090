//===- ExplainReport.h - Explained kernels as rows --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_EXPLAIN_EXPLAINREPORT_H
#define CS336_BENCH_EXPLAIN_EXPLAINREPORT_H

#include "cs336/Bench/Explain/CompilationTime.h"
#include "cs336/Bench/Explain/KernelFacts.h"
#include "cs336/Bench/Report/Report.h"

#include <optional>

namespace cs336::bench {

/// The columns of the table with one row per kernel.
std::vector<Column<KernelFacts>> getExplainColumns();

/// Makes a report with a row per kernel, and tables of launches, schedules and functions. A report of one kernel also
/// has its operations and its text. `device` names the model that predicted the times.
Report makeExplainReport(const ExplainedProgram &program, llvm::json::Object context, llvm::StringRef device,
                         const std::optional<CompilationTime> &compilationTime);

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_EXPLAINREPORT_H
