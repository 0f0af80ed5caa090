//===- DistributeFlags.cpp - Flags of data parallelism --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/DistributeFlags.h"

#include "llvm/Support/FormatVariadic.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
namespace cl = llvm::cl;

DistributeFlags::DistributeFlags(const cl::opt<int> &ranks, cl::OptionCategory &category, cl::SubCommand &subcommand)
    : ranks(ranks),
      mode("distribute",
           cl::desc("Average gradients and the loss over the ranks of --ranks (default: no exchange of gradients)"),
           getDistributeValues(), cl::cat(category), cl::sub(subcommand)),
      bucketMiB(
          "bucket-mib",
          cl::desc(
              "Size in MiB at which a bucket of gradients is complete, or auto: chosen by predicted times (default: a "
              "twentieth of all, 25 to 256)"),
          cl::value_desc("number|auto"), cl::cat(category), cl::sub(subcommand)) {}

absl::Status DistributeFlags::check() const {
  if (ranks < 1)
    return absl::InvalidArgumentError(absl::StrCat("--ranks is ", ranks.getValue(), ", must be at least 1"));
  if (areGiven() && ranks == 1 && ranks.getNumOccurrences() == 0 && !acceptsOneRank)
    return absl::InvalidArgumentError(
        absl::StrCat("--distribute ", stringifyDistributeMode(mode).str(), " requires --ranks"));
  if (bucketMiB.getNumOccurrences() == 0)
    return absl::OkStatus();
  bool hasBuckets = mode == DistributeMode::Bucket || mode == DistributeMode::Zero1 || mode == DistributeMode::FSDP;
  if (!areGiven() || !hasBuckets)
    return absl::InvalidArgumentError("--bucket-mib requires --distribute bucket, zero1 or fsdp");
  if (!bucketMiB.isAutomatic && bucketMiB.mib <= 0)
    return absl::InvalidArgumentError(absl::StrCat("--bucket-mib is ", bucketMiB.mib, ", must be above 0"));
  return absl::OkStatus();
}

std::vector<FlagOption> DistributeFlags::getOptions() const {
  std::vector<FlagOption> options;
  if (!areGiven())
    return options;
  options.push_back({"world-size", absl::StrCat(ranks.getValue()), "--ranks"});
  options.push_back({"distribute", stringifyDistributeMode(mode).str(), "--distribute"});
  if (bucketMiB.getNumOccurrences() > 0)
    options.push_back({"bucket-mib", llvm::formatv("{0}", bucketMiB.getValue()).str(), "--bucket-mib"});
  return options;
}
