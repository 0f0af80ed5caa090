//===- Distribution.cpp - Modes of exchanging gradients -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Command/Distribution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <iterator>

using namespace cs336;
using namespace cs336::bench;

static constexpr llvm::StringLiteral kNames[] = {"none", "per-parameter", "flat", "overlap", "bucket", "zero1", "fsdp"};

llvm::StringRef cs336::bench::stringifyDistribution(Distribution distribution) {
  return kNames[static_cast<size_t>(distribution)];
}

std::optional<Distribution> cs336::bench::symbolizeDistribution(llvm::StringRef name) {
  const auto *found = llvm::find(kNames, name);
  return found == std::end(kNames) ? std::nullopt : std::optional(static_cast<Distribution>(found - kNames));
}

bool cs336::bench::hasBuckets(Distribution distribution) { return distribution >= Distribution::Bucket; }

std::string ExchangeVariant::getPipelineOptions(int64_t ranks) const {
  if (mode == Distribution::None)
    return "";
  std::string options = llvm::formatv(" world-size={0} distribute={1}", ranks, stringifyDistribution(mode));
  if (bucketMiB)
    options += llvm::formatv(" bucket-mib={0}", *bucketMiB);
  return options;
}

std::string ExchangeVariant::describeBucket() const {
  if (!bucketMiB)
    return "";
  return bucketMiB->isAutomatic ? " of a predicted size" : llvm::formatv(" of {0} MiB", *bucketMiB).str();
}

Cell ExchangeVariant::makeBucketSize() const {
  if (!bucketMiB)
    return Cell::empty();
  std::string text = llvm::formatv("{0}", *bucketMiB);
  return bucketMiB->isAutomatic ? Cell(std::move(text)) : Cell(std::move(text), bucketMiB->mib);
}
