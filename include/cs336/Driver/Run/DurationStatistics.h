//===- DurationStatistics.h - Statistics in bounded memory ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_DURATIONSTATISTICS_H
#define CS336_DRIVER_RUN_DURATIONSTATISTICS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace cs336 {

/// The columns of nsys' statistics of durations, in nanoseconds. The memory does not grow with the number of durations.
/// All statistics are exact except for the median of many durations.
class DurationStatistics {
public:
  /// The most durations that are kept for an exact median. More durations are counted in buckets: 128 per power of two,
  /// from 256 ns on. An estimated median is the middle of its bucket, and therefore within 1/256 of the exact median.
  static constexpr size_t kMostKept = 1024;

  void add(int64_t duration);
  /// Adds all durations of `other`. The median stays exact if both medians are.
  void add(const DurationStatistics &other);

  int64_t getTotal() const { return total; }
  int64_t getInstances() const { return instances; }
  int64_t getShortest() const { return shortest; }
  int64_t getLongest() const { return longest; }
  /// Returns 0 without durations, as the median does.
  double getAverage() const;
  double getMedian() const;
  /// Returns whether the median is an estimate.
  bool isMedianEstimated() const { return !buckets.empty(); }
  /// Returns the sample standard deviation; 0 for a single duration.
  double getStandardDeviation() const;

private:
  /// Counts the kept durations in buckets, and those that are added later.
  void startBuckets();
  /// Returns the middle of the bucket of the duration at this position in increasing order.
  double findInBuckets(int64_t position) const;

  int64_t total = 0, instances = 0, shortest = 0, longest = 0;
  /// Welford's mean, and the sum of the squared differences from it.
  double mean = 0, squares = 0;
  std::vector<int64_t> kept;      // All durations, or none if there are buckets.
  std::map<int, int64_t> buckets; // The counts of durations.
};

} // namespace cs336

#endif // CS336_DRIVER_RUN_DURATIONSTATISTICS_H
