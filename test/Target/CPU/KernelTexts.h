//===- KernelTexts.h - Kernels, numbers and comparisons for tests ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_TARGET_CPU_KERNELTEXTS_H
#define CS336_TEST_TARGET_CPU_KERNELTEXTS_H

#include "gtest/gtest.h"
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cs336::test {

std::vector<float> randomFloats(size_t count, float low = -2.0f, float high = 2.0f, unsigned seed = 1);

float fromBf16(uint16_t bits);
/// To the nearest, and to even.
uint16_t toBf16(float value);

/// Replaces every `{key}` of the text.
std::string fill(std::string text, const std::vector<std::pair<std::string, std::string>> &values);

/// The text of an `exec.kernel`.
std::string kernel(const std::string &name, const std::string &arguments, const std::string &signature,
                   const std::string &body);
/// @chain(x, y) = max(x·sigmoid(x)/2 − y, y) of float32 vectors.
std::string pointwiseChain(int size);
/// @f: one operation `cs336.name` on a vector.
std::string functionKernel(const std::string &name, int size, const std::string &type);
/// @softmax of every row.
std::string softmaxKernel(int rows, int columns);

/// |actual − expected| ≤ tolerance·max(|expected|, scale), and equal where either is not finite.
template <typename Real>
void expectClose(const std::vector<Real> &actual, const std::vector<double> &expected, double tolerance,
                 double scale = 0.0) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << "at " << i;
      continue;
    }
    if (!std::isfinite(expected[i])) {
      EXPECT_EQ(static_cast<double>(actual[i]), expected[i]) << "at " << i;
      continue;
    }
    ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(std::abs(expected[i]), scale)) << "at " << i;
  }
}

} // namespace cs336::test

#endif // CS336_TEST_TARGET_CPU_KERNELTEXTS_H
