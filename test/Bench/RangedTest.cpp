//===- RangedTest.cpp - Times with their noise ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timing/RangedCells.h"

#include "LineWidths.h"
#include "cs336/Bench/Report/Report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace cs336::bench::ranged_test {

namespace json = llvm::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RangedTest, TheQuartilesBoundTheMedian) {
  Ranged median = getRangedMedian({5, 1, 4, 2, 3});
  EXPECT_EQ(median.value, 3);
  EXPECT_EQ(median.low, 2);
  EXPECT_EQ(median.high, 4);
  median = getRangedMedian({1, 2, 3, 4}); // Interpolated.
  EXPECT_EQ(median.value, 2.5);
  EXPECT_EQ(median.low, 1.75);
  EXPECT_EQ(median.high, 3.25);
}

TEST(RangedTest, TwoSamplesDoNotShowTheirNoise) {
  Ranged two = getRangedMedian({10, 10}), three = getRangedMedian({10, 10, 10});
  EXPECT_FALSE(two.isClear());
  EXPECT_TRUE(std::isinf(two.low) && std::isinf(two.high));
  EXPECT_TRUE(three.isClear());
  EXPECT_FALSE(divide(two, three).isClear());
  EXPECT_FALSE(divide(three, two).isClear());
  EXPECT_FALSE(subtract(two, three).isClear());
  EXPECT_EQ(divide(two, three).value, 1);
}

TEST(RangedTest, ARatioIsClearUpToItsLargestAmbiguity) {
  EXPECT_TRUE((Ranged{1.2, 1, 1.5}.isClear()));
  EXPECT_FALSE((Ranged{1.2, 1, 1.51}.isClear()));
  EXPECT_FALSE((Ranged{1, 0, 0}.isClear()));
  Ranged ratio = divide(getRangedMedian({30, 33, 36}), getRangedMedian({10, 11, 12}));
  EXPECT_EQ(ratio.value, 3);
  EXPECT_DOUBLE_EQ(ratio.low, 31.5 / 11.5);
  EXPECT_DOUBLE_EQ(ratio.high, 34.5 / 10.5);
  EXPECT_TRUE(ratio.isClear());
}

TEST(RangedTest, OneSlowStepDoesNotHideARatio) {
  std::vector<double> steps{10, 10.1, 10.2, 10.1, 10, 10.1, 10.2, 10.3, 10.1, 80};
  EXPECT_TRUE(divide(getRangedMedian(steps), getRangedMedian(steps)).isClear());
  // The mean is another matter.
  EXPECT_FALSE(divide(getRangedMean(steps), getRangedMean(steps)).isClear());
  EXPECT_EQ(getRangedMean(steps).high, getRangedMean(steps).value);
}

TEST(RangedTest, ABusyMachineHidesADifference) {
  // Steps with and without gradients, beside other work: the medians' difference is 0.04 or 12, as it happens.
  std::vector<double> loss{24, 31, 24.5, 40, 25}, both{25.04, 24.9, 44, 36, 25.02};
  Ranged backward = subtract(getRangedMedian(both), getRangedMedian(loss));
  EXPECT_NEAR(backward.value, 0.04, 1e-9);
  EXPECT_LT(backward.low, 0);
  EXPECT_FALSE(backward.isClear());
  EXPECT_FALSE(divide(backward, backward).isClear());
  // On an idle machine.
  backward = subtract(getRangedMedian({107, 106.5, 107.2}), getRangedMedian({24, 24.1, 24}));
  EXPECT_TRUE(backward.isClear());
  EXPECT_TRUE(divide(backward, getRangedMedian({24, 24.1, 24})).isClear());
}

TEST(RangedTest, NoiseIsACellWithAFootnote) {
  Cell clear = makeRatio(Ranged{2, 1.9, 2.1}, 2), hidden = makeRatio(Ranged{2, 1, 4}, 2);
  EXPECT_EQ(clear.text, "2.00");
  EXPECT_EQ(clear.value, json::Value(2.0));
  EXPECT_EQ(clear.footnote, "");
  EXPECT_EQ(hidden.text, "noisy");
  EXPECT_EQ(hidden.value, json::Value(nullptr));
  EXPECT_THAT(hidden.footnote, HasSubstr("by more than a factor of 1.5"));
  EXPECT_THAT(hidden.footnote, HasSubstr("more --steps"));
  EXPECT_EQ(makeRatio(std::nullopt, 2).text, "");
  Cell difference = makeDifference(Ranged{0.04, -12, 8}, 3);
  EXPECT_EQ(difference.text, "noisy");
  EXPECT_EQ(difference.value, json::Value(0.04));
  EXPECT_EQ(makeInterval(Ranged{2, 1, 4}).value, json::Value(json::Array({1.0, 4.0})));
  EXPECT_EQ(makeInterval(getRangedMedian({1})).value, json::Value(nullptr));
}

std::vector<Column<Ranged>> getColumns() {
  std::vector<Column<Ranged>> columns{{"time", "time", [](const Ranged &row) { return Cell::number(row.value, 1); }}};
  appendRatio<Ranged>(columns, "speed-up", "speedup", 2, [](const Ranged &row) { return row; });
  return columns;
}

TEST(RangedTest, TheFootnoteStandsOnceBelowATableThatShowsNoise) {
  std::vector<Ranged> rows{{2, 1.9, 2.1}, {3, 1, 4}, {3, 1, 4}};
  Report report{{}, {{"times", "", getColumns(), llvm::ArrayRef(rows)}}, {}};
  for (Format format : {Format::Table, Format::Markdown, Format::LaTeX, Format::Typst}) {
    std::string text = print(report, format);
    size_t first = text.find("noisy: ");
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(text.find("noisy: ", first + 1), std::string::npos);
  }
  EXPECT_LE(getWidestLine(print(report, Format::Table)), 120);
  EXPECT_EQ(print(report, Format::CSV), "time,speedup\n2.0,2.00\n3.0,noisy\n3.0,noisy\n");
  json::Value document = llvm::cantFail(json::parse(print(report, Format::JSON)));
  const json::Object &hidden = *document.getAsObject()->getArray("results")->back().getAsObject();
  EXPECT_EQ(*hidden.get("speedup"), nullptr);
  EXPECT_EQ(*hidden.getArray("speedup_interval"), json::Array({1.0, 4.0}));

  report.tables.front().select({"time"});
  EXPECT_THAT(print(report, Format::Table), Not(HasSubstr("noisy")));
}

} // namespace cs336::bench::ranged_test
