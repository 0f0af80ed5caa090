//===- ProfileReport.h - Where the time of runs goes, as rows ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROFILE_PROFILEREPORT_H
#define CS336_BENCH_PROFILE_PROFILEREPORT_H

#include "cs336/Bench/Profile/ProfileFlags.h"
#include "cs336/Bench/Profile/Roofline.h"
#include "cs336/Bench/Report/Report.h"
#include "cs336/Driver/Run/RunProfile.h"

#include <limits>
#include <optional>

namespace cs336::bench {

/// The share of GEMMs in the time of a profile, and the kernels (on the CPU: commands) that take the most time.
struct ProfileFacts {
  struct Longest {
    std::string name;
    double share; // From 0 to 1.
  };

  double gemmShare = 0;
  /// Absent if nothing ran.
  std::optional<Longest> longest, longestOutsideGemms;
};

ProfileFacts computeProfileFacts(const RunProfile &profile);

/// One phase of a profile. Shares are those of the phase's time.
struct PhaseFacts {
  std::string phase;
  int64_t nanoseconds = 0;
  ProfileFacts facts;
};

/// Returns the phases in the order in which they start. Work that belongs to no command is not part of any.
std::vector<PhaseFacts> computePhaseFacts(const RunProfile &profile);

/// "12.345 ms in 72 runs, of which GEMMs take 61.2 %": the sum over all rows of the profile.
std::string describeTotal(const RunProfile &profile);

/// "steps: 12.900 ms, 4.3 % outside of commands (inputs, outputs, and the profiler itself)", where the host measured
/// `milliseconds` for all steps together. The share is an upper bound of the overhead of profiling.
std::string describeTimeOutside(const RunProfile &profile, double milliseconds);

/// Returns the columns of a profile's tables: those of nsys' cuda_gpu_kern_sum, the phase, and those that nsys'
/// nvtx_kern_sum has besides.
std::vector<ColumnHead> getProfileColumns();

/// Returns a table with one row per key and phase, in decreasing order of time, and with at most `numRows` rows. It has
/// the columns of nsys' cuda_gpu_kern_sum, or, for `RangeKernel`, those of nvtx_kern_sum.
Table makeProfileTable(std::string name, std::string title, const RunProfile &profile, ProfileKey key,
                       size_t numRows = std::numeric_limits<size_t>::max());

/// Appends a table per key, and a table of rates if there are ceilings. Their names begin with `name`. `title` and the
/// total are above the first table. Notes name the longest kernels.
void appendProfile(Report &report, const std::string &name, const std::string &title, const RunProfile &profile,
                   const ProfileLayout &layout, const std::optional<Ceilings> &ceilings);

} // namespace cs336::bench

#endif // CS336_BENCH_PROFILE_PROFILEREPORT_H
