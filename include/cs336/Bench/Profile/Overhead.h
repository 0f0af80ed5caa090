//===- Overhead.h - The overhead of profiling -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROFILE_OVERHEAD_H
#define CS336_BENCH_PROFILE_OVERHEAD_H

#include "cs336/Bench/Timing/Ranged.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>

namespace cs336::bench {

/// Returns the median time of profiled steps divided by that of steps without the profiler, of a session that ended
/// before the profiler was created. Both need at least one step.
Ranged getProfiledOverStep(llvm::ArrayRef<double> profiled, llvm::ArrayRef<double> unprofiled);

/// Describes the overhead of profiling, or states that it is smaller than the noise of the steps. Times are in
/// milliseconds.
std::string describeOverhead(llvm::ArrayRef<double> profiled, llvm::ArrayRef<double> unprofiled);

/// Returns a warning if the overhead is above 3 %, unless it is within the noise.
std::optional<std::string> findOverheadWarning(llvm::ArrayRef<double> profiled, llvm::ArrayRef<double> unprofiled);

} // namespace cs336::bench

#endif // CS336_BENCH_PROFILE_OVERHEAD_H
