//===- DistributionFlags.cpp - Exchanges to compare -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Command/DistributionFlags.h"

#include "llvm/ADT/STLExtras.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;

/// Returns the values of `--distribute`: those of the pipeline's option, and none.
static cl::ValuesClass getValues() {
  return cl::values(
      clEnumValN(Distribution::None, "none", "one rank without an exchange, with which the others are compared"),
      clEnumValN(Distribution::PerParameter, "per-parameter", "one collective per gradient, after the backward pass"),
      clEnumValN(Distribution::Flat, "flat", "one collective of all gradients, after the backward pass"),
      clEnumValN(Distribution::Overlap, "overlap", "one collective per gradient, as soon as it is ready"),
      clEnumValN(Distribution::Bucket, "bucket", "one collective per bucket, as soon as it is complete"),
      clEnumValN(Distribution::Zero1, "zero1",
                 "as bucket; ranks store parts of parameters and state, and gather parameters once per step"),
      clEnumValN(Distribution::FSDP, "fsdp", "as zero1, and the backward pass gathers parameters again"));
}

DistributionFlags::DistributionFlags(std::vector<Distribution> defaults, llvm::StringRef description,
                                     cl::OptionCategory &category, cl::SubCommand &subcommand)
    : defaults(std::move(defaults)), modes("distribute", cl::desc(description), cl::CommaSeparated, getValues(),
                                           cl::cat(category), cl::sub(subcommand)),
      bucketMiBs("bucket-mib",
                 cl::desc("Sizes in MiB at which a bucket is complete, side by side; auto: chosen by predicted times "
                          "(default: 1/20 of all gradients, at least 25 and at most 256)"),
                 cl::value_desc("number|auto,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)) {}

std::vector<Distribution> DistributionFlags::getModes() const {
  return modes.empty() ? defaults : std::vector<Distribution>(modes.begin(), modes.end());
}

bool DistributionFlags::haveExchange() const {
  return llvm::any_of(getModes(), [](Distribution mode) { return mode != Distribution::None; });
}

absl::Status DistributionFlags::check() const {
  for (const BucketSize &size : bucketMiBs)
    if (!size.isAutomatic && size.mib <= 0)
      return absl::InvalidArgumentError(absl::StrCat("--bucket-mib is ", size.mib, ", must be above 0"));
  if (!bucketMiBs.empty() && llvm::none_of(getModes(), hasBuckets))
    return absl::InvalidArgumentError("--bucket-mib requires --distribute bucket, zero1 or fsdp");
  return absl::OkStatus();
}

std::vector<ExchangeVariant> DistributionFlags::getVariants() const {
  std::vector<ExchangeVariant> variants;
  for (Distribution mode : getModes()) {
    if (!hasBuckets(mode) || bucketMiBs.empty()) {
      variants.push_back({mode});
      continue;
    }
    for (const BucketSize &size : bucketMiBs)
      variants.push_back({mode, size});
  }
  return variants;
}
