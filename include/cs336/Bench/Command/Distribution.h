//===- Distribution.h - Modes of exchanging gradients -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_DISTRIBUTION_H
#define CS336_BENCH_COMMAND_DISTRIBUTION_H

#include "cs336/Bench/Report/Cell.h"
#include "cs336/Pipelines/Pipelines.h"

#include <optional>
#include <string>

namespace cs336::bench {

/// The exchange of a row. `None` is one rank without exchange, the baseline of scaling; the others are those of
/// `DistributeMode`.
enum class Distribution : uint8_t { None, PerParameter, Flat, Overlap, Bucket, Zero1, FSDP };

/// Returns the name in flags and in the pipeline: "per-parameter".
llvm::StringRef stringifyDistribution(Distribution distribution);
/// Returns the exchange with that name, or nullopt.
std::optional<Distribution> symbolizeDistribution(llvm::StringRef name);
/// Returns whether the mode exchanges buckets, whose size `--bucket-mib` sets.
bool hasBuckets(Distribution distribution);

/// An exchange with the size of its buckets.
struct ExchangeVariant {
  Distribution mode = Distribution::None;
  /// Absent for modes without buckets, and for the default size.
  std::optional<BucketSize> bucketMiB = std::nullopt;

  /// Returns the options of the pipeline, with a space before each: " world-size=2 distribute=bucket bucket-mib=25".
  /// Empty for `None`.
  std::string getPipelineOptions(int64_t ranks) const;
  /// Returns " of 25 MiB", " of a predicted size", or nothing without a size.
  std::string describeBucket() const;
  /// Returns the MiB as a number, or "auto". Empty without a size.
  Cell makeBucketSize() const;
};

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_DISTRIBUTION_H
