//===- BucketSize.cpp - Size of the buckets of gradients ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/Transforms/Training/BucketSize.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace cs336;

static constexpr llvm::StringLiteral kAutomatic = "auto";

llvm::raw_ostream &cs336::operator<<(llvm::raw_ostream &os, const BucketSize &size) {
  if (size.isAutomatic)
    return os << kAutomatic;
  return os << llvm::format("%g", size.mib);
}

bool llvm::cl::parser<BucketSize>::parse(Option &option, StringRef, StringRef text, BucketSize &size) {
  if (text == kAutomatic) {
    size = {0, /*isAutomatic=*/true};
    return false;
  }
  double mib = 0;
  if (!to_float(text, mib) || !std::isfinite(mib))
    return option.error("'" + text + "' is neither a finite number of MiB nor auto");
  size = {mib};
  return false;
}
