//===- NormalQuantileTest.cpp - Inverse of the normal distribution --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "initializer/NormalQuantile.h"

#include "gtest/gtest.h"

#include <cmath>
#include <vector>

namespace cs336::runtime::normal_quantile_test {
namespace {

double Cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

double Quantile(double p) {
  NormalQuantile(absl::MakeSpan(&p, 1));
  return p;
}

TEST(NormalQuantileTest, InvertsTheDistribution) {
  for (double x = -37; x < 8; x += 0.001) {
    double p = Cdf(x);
    // The error in x from rounding p itself: near 1, p has few digits left.
    double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    double bound = 1e-14 * (1 + std::abs(x)) + 0x1p-52 * p / density;
    EXPECT_NEAR(Quantile(p), x, bound) << "p = " << p;
  }
}

TEST(NormalQuantileTest, IsOddAboutOneHalf) {
  EXPECT_EQ(Quantile(0.5), 0);
  for (double p : {0x1p-40, 0x1p-10, 0x1p-4, 0.0625, 0.25, 0.375})
    EXPECT_EQ(Quantile(p), -Quantile(1 - p));
}

TEST(NormalQuantileTest, IsContinuousWhereTheFormulaChanges) {
  for (double p : {0.075, 0.925, std::exp(-25.0)}) {
    double below = Quantile(p * (1 - 1e-12)), above = Quantile(p * (1 + 1e-12));
    EXPECT_LT(below, above);
    EXPECT_NEAR(below, above, 1e-10);
  }
}

TEST(NormalQuantileTest, DoesNotDependOnTheValuesBeside) {
  std::vector<double> values;
  for (int i = 1; i != 2000; ++i)
    values.push_back(i / 2000.0);
  values.push_back(1e-12);
  std::vector<double> expected;
  for (double p : values)
    expected.push_back(Quantile(p));
  NormalQuantile(absl::MakeSpan(values));
  EXPECT_EQ(values, expected);
}

} // namespace
} // namespace cs336::runtime::normal_quantile_test
