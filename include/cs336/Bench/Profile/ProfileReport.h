//===- ProfileReport.h - Where the time of runs went, as rows ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROFILE_PROFILEREPORT_H
#define CS336_BENCH_PROFILE_PROFILEREPORT_H

#include "cs336/Bench/Report/Table.h"
#include "cs336/Driver/Run/RunProfile.h"

#include <limits>

namespace cs336::bench {

/// "12.345 ms in 72 runs": the sum over all rows of the profile.
std::string describeTotal(const RunProfile &profile);

/// A row for each name, the most time first, and at most `most` rows: on the CPU the share of the whole, total and mean
/// time, runs and phase of a command; on a GPU the columns of nsys' cuda_gpu_kern_sum.
Table makeProfileTable(std::string name, std::string title, const RunProfile &profile,
                       size_t most = std::numeric_limits<size_t>::max());

} // namespace cs336::bench

#endif // CS336_BENCH_PROFILE_PROFILEREPORT_H
