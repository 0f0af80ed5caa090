//===- DistributionFlags.h - Exchanges to compare ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_DISTRIBUTIONFLAGS_H
#define CS336_BENCH_COMMAND_DISTRIBUTIONFLAGS_H

#include "cs336/Bench/Command/Distribution.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "cs336/Support/EnumParser.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

#include <vector>

namespace cs336::bench {

/// `--distribute` and `--bucket-mib` of subcommands that compare exchanges: lists, each value in a row of its own.
class DistributionFlags {
public:
  /// `defaults` are the modes without `--distribute`. `description` is the help of `--distribute`.
  DistributionFlags(std::vector<Distribution> defaults, llvm::StringRef description, llvm::cl::OptionCategory &category,
                    llvm::cl::SubCommand &subcommand);

  /// Returns INVALID_ARGUMENT for a bucket that is not above 0 MiB, and for `--bucket-mib` without a mode that has
  /// buckets.
  absl::Status check() const;

  bool areGiven() const { return !modes.empty(); }

  /// Returns true if there is a mode with an exchange: one other than none.
  bool haveExchange() const;

  /// Returns the modes in order, and those with buckets once for each size.
  std::vector<ExchangeVariant> getVariants() const;

private:
  std::vector<Distribution> getModes() const;

  std::vector<Distribution> defaults;
  ListFlag<Distribution, EnumParser<Distribution>> modes;
  ListFlag<BucketSize> bucketMiBs;
};

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_DISTRIBUTIONFLAGS_H
