//===- BufferTables.h - Tables of a plan's buffers --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_BUFFERTABLES_H
#define CS336_BENCH_PLAN_BUFFERTABLES_H

#include "cs336/Bench/Plan/PlanReport.h"

namespace cs336::bench {

/// Buffers of the same kind, size, type and lifetime, whose sources differ only in the layer.
struct BufferGroup {
  /// One of the buffers. If the group has several, its source is "layers.*.ffn.w13", and so is its location.
  Allocation buffer;
  int64_t count = 0;
};

/// Groups equal buffers of all layers, in the order of the first buffer of each group.
std::vector<BufferGroup> groupBuffers(llvm::ArrayRef<Allocation> buffers);
/// Returns one group for each buffer.
std::vector<BufferGroup> listBuffers(llvm::ArrayRef<Allocation> buffers);

/// Returns "buffers": at most `most` groups.
Table makeBufferTable(std::string title, llvm::ArrayRef<BufferGroup> groups, size_t most);

/// Returns "peak-buffers": the memory that is live at the largest peak of each plan. Equal buffers of all layers are
/// one row. A plan has at most `tables.most` of them, of buffers of at least `tables.detailBytes`, those with the most
/// bytes together first. Then follow a row with the sum of the other buffers, and one with the sum of all, which is the
/// peak.
Table makePeakBufferTable(llvm::ArrayRef<PlanRow> plans, const PlanTables &tables);

/// Returns the rows of `makePeakBufferTable` for one plan as objects. There, each buffer is a row.
llvm::json::Array listPeakBuffers(const PlanRow &row, const PlanTables &tables);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_BUFFERTABLES_H
