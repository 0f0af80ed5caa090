//===- DistributeFlags.h - Flags of data parallelism ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_DISTRIBUTEFLAGS_H
#define CS336_DRIVER_FLAGS_DISTRIBUTEFLAGS_H

#include "cs336/Pipelines/Pipelines.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

#include <string>
#include <vector>

namespace cs336 {

/// An option of `--cs336-pipeline`, and the flag that sets it: "world-size", "4", "--ranks".
struct FlagOption {
  std::string name, value, flag;
};

/// `--distribute` and `--bucket-mib`, with the `--ranks` of the tool.
class DistributeFlags {
public:
  /// `ranks` must outlive this object.
  DistributeFlags(const llvm::cl::opt<int> &ranks, llvm::cl::OptionCategory &category,
                  llvm::cl::SubCommand &subcommand);

  /// Returns INVALID_ARGUMENT for a number of ranks below 1, a bucket that is not above 0 MiB, and flags without an
  /// effect: `--distribute` without `--ranks`, and `--bucket-mib` without buckets.
  absl::Status check() const;

  /// States that the number of ranks is known although `--ranks` is not given, so that one rank may distribute too.
  void acceptOneRank() { acceptsOneRank = true; }

  bool areGiven() const { return mode.getNumOccurrences() > 0; }

  /// Returns the options that the flags set; none without `--distribute`.
  std::vector<FlagOption> getOptions() const;

private:
  const llvm::cl::opt<int> &ranks;
  llvm::cl::opt<DistributeMode> mode;
  llvm::cl::opt<BucketSize> bucketMiB;
  bool acceptsOneRank = false;
};

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_DISTRIBUTEFLAGS_H
