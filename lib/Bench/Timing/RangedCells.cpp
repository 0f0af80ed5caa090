//===- RangedCells.cpp - Cells that noise may hide ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timing/RangedCells.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace cs336::bench;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kNoisy = "noisy";

static std::string getFootnote() {
  return llvm::formatv(
      "{0}: the quartiles of the steps allow values that differ by more than a factor of {1}, or there "
      "are fewer than {2} steps. Use more --steps, on a machine without other work",
      kNoisy, Ranged::kLargestAmbiguity, Ranged::kFewestSamples);
}

Cell cs336::bench::makeUtilization(double rate, std::optional<double> peak) {
  if (!peak)
    return Cell::empty();
  if (rate > *peak)
    return Cell::note("above 1", "above 1: faster than the GEMM to which MFU refers, which other work has slowed down. "
                                 "Measure on a machine without other work");
  return Cell::number(rate / *peak, 3);
}

Cell cs336::bench::makeNoisy() { return Cell::note(kNoisy, getFootnote()); }

Cell cs336::bench::makeRatio(std::optional<Ranged> ratio, int digits) {
  if (!ratio)
    return Cell::empty();
  return ratio->isClear() ? Cell::number(ratio->value, digits) : makeNoisy();
}

Cell cs336::bench::makeDifference(std::optional<Ranged> difference, int digits) {
  Cell cell = makeRatio(difference, digits);
  if (difference)
    cell.value = difference->value;
  return cell;
}

Cell cs336::bench::makeInterval(std::optional<Ranged> ranged) {
  if (!ranged || !std::isfinite(ranged->low) || !std::isfinite(ranged->high))
    return Cell::empty();
  return Cell::data(json::Array({ranged->low, ranged->high}));
}
