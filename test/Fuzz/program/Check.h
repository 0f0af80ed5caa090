//===- Check.h - Comparison with the reference ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_CHECK_H
#define CS336_TEST_FUZZ_PROGRAM_CHECK_H

#include "Execute.h"

#include <string>

namespace cs336::fuzz {

/// The part of the outputs that is compared: the rest is unknown because of rounding.
struct Coverage {
  int64_t elements = 0, knownElements = 0;
  bool hasGradients = false;
};
Coverage findCoverage(const Graph &graph);

/// Compares every element of both results with the reference. For the gradient of each parameter, compares the largest
/// element, the one with the largest difference between the results, and the sum along a direction of all elements.
/// Returns the first difference, or an empty string.
std::string findDifference(const Graph &graph, const Results &plain, const Results &fused);

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_CHECK_H
