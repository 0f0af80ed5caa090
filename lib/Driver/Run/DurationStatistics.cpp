//===- DurationStatistics.cpp - Statistics in bounded memory --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The variance follows Welford (1962), and the sum of two variances Chan, Golub and LeVeque (1979).
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/DurationStatistics.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace cs336;

/// The buckets of each power of two.
static constexpr int kBucketBits = 7, kBuckets = 1 << kBucketBits;

/// Returns the bucket of a duration. Durations below 2 * kBuckets have a bucket each.
static int getBucket(int64_t duration) {
  if (duration <= 0)
    return 0;
  int shift = std::max(0, static_cast<int>(llvm::Log2_64(static_cast<uint64_t>(duration))) - kBucketBits);
  return shift * kBuckets + static_cast<int>(duration >> shift);
}

static double getMiddle(int bucket) {
  int shift = std::max(0, bucket / kBuckets - 1);
  double first = std::ldexp(bucket - shift * kBuckets, shift);
  return first + (std::ldexp(1, shift) - 1) / 2;
}

void DurationStatistics::add(int64_t duration) {
  shortest = instances == 0 ? duration : std::min(shortest, duration);
  longest = instances == 0 ? duration : std::max(longest, duration);
  ++instances;
  total += duration;
  double difference = static_cast<double>(duration) - mean;
  mean += difference / static_cast<double>(instances);
  squares += difference * (static_cast<double>(duration) - mean);
  if (buckets.empty() && kept.size() < kMostKept) {
    kept.push_back(duration);
    return;
  }
  startBuckets();
  ++buckets[getBucket(duration)];
}

void DurationStatistics::add(const DurationStatistics &other) {
  if (other.instances == 0)
    return;
  shortest = instances == 0 ? other.shortest : std::min(shortest, other.shortest);
  longest = instances == 0 ? other.longest : std::max(longest, other.longest);
  auto count = static_cast<double>(instances), added = static_cast<double>(other.instances);
  double difference = other.mean - mean;
  mean += difference * added / (count + added);
  squares += other.squares + difference * difference * count * added / (count + added);
  instances += other.instances;
  total += other.total;
  if (!isMedianEstimated() && !other.isMedianEstimated()) {
    kept.insert(kept.end(), other.kept.begin(), other.kept.end());
    return;
  }
  startBuckets();
  for (int64_t duration : other.kept)
    ++buckets[getBucket(duration)];
  for (auto [bucket, number] : other.buckets)
    buckets[bucket] += number;
}

void DurationStatistics::startBuckets() {
  for (int64_t duration : kept)
    ++buckets[getBucket(duration)];
  kept = {};
}

double DurationStatistics::getAverage() const {
  return instances == 0 ? 0 : static_cast<double>(total) / static_cast<double>(instances);
}

double DurationStatistics::findInBuckets(int64_t position) const {
  for (auto [bucket, number] : buckets) {
    if (position < number)
      return std::clamp(getMiddle(bucket), static_cast<double>(shortest), static_cast<double>(longest));
    position -= number;
  }
  return static_cast<double>(longest);
}

double DurationStatistics::getMedian() const {
  if (instances == 0)
    return 0;
  int64_t lower = (instances - 1) / 2, upper = instances / 2;
  if (isMedianEstimated())
    return 0.5 * (findInBuckets(lower) + findInBuckets(upper));
  std::vector<int64_t> sorted = kept;
  std::sort(sorted.begin(), sorted.end());
  return 0.5 * static_cast<double>(sorted[lower] + sorted[upper]);
}

double DurationStatistics::getStandardDeviation() const {
  return instances < 2 ? 0 : std::sqrt(squares / static_cast<double>(instances - 1));
}
