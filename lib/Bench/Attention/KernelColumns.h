//===- KernelColumns.h - Columns about attention's kernels ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_BENCH_ATTENTION_KERNELCOLUMNS_H
#define CS336_LIB_BENCH_ATTENTION_KERNELCOLUMNS_H

#include "cs336/Bench/Attention/AttentionReport.h"

namespace cs336::bench {

/// Appends columns with the shared memory, the registers and the local memory of each pass. Tables show them if a row
/// has a tile or was only compiled.
void appendKernelColumns(std::vector<Column<AttentionRow>> &columns, llvm::ArrayRef<AttentionRow> rows);

} // namespace cs336::bench

#endif // CS336_LIB_BENCH_ATTENTION_KERNELCOLUMNS_H
