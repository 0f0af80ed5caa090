//===- ModelMemory.h - Memory in use beside the plan ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELMEMORY_H
#define CS336_BENCH_MODEL_MODELMEMORY_H

#include "cs336/Bench/Model/ModelReport.h"

namespace cs336::bench {

/// Returns columns with the planned memory of a session, the memory that the device reports after the steps, and the
/// parts of the difference. The columns are empty for rows that ran on the CPU.
std::vector<Column<ModelRow>> getMemoryColumns(Show show);

/// Appends the table "memory", with the rows that ran on a GPU, if there are any.
void appendMemoryTable(Report &report, llvm::ArrayRef<ModelRow> rows);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELMEMORY_H
