//===- LifetimesTest.cpp - When memory of the arena is live ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/Lifetimes.h"

#include "ProgramBuilder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::lifetimes_test {
namespace {

using ::testing::ElementsAre;
using testing::MakeType;
using ::testing::Pair;

/// Returns the first and the last command of each used allocation.
std::vector<std::pair<size_t, size_t>> Ranges(const format::EntryT &entry) {
  std::vector<std::pair<size_t, size_t>> ranges;
  for (const format::Lifetime &lifetime : format::Lifetimes(entry))
    if (lifetime.is_used)
      ranges.emplace_back(lifetime.first, lifetime.last);
  return ranges;
}

TEST(LifetimesTest, AllocationsLiveFromTheirFirstUseToTheirLast) {
  testing::ProgramBuilder program;
  testing::EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {4}));
  uint32_t a = entry.Arena("a", MakeType(DType::kF32, {4})), b = entry.Arena("b", MakeType(DType::kF32, {2}));
  uint32_t half = entry.View(a, {2}, {1}, 8);
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {2})), z = entry.Output("z", MakeType(DType::kF32, {2}));
  entry.Arena("unused", MakeType(DType::kF32, {100}));
  entry.Copy(x, a);    // a
  entry.Copy(half, b); // a, by a view, and b
  entry.Copy(b, y);    // b, y
  entry.Copy(b, z);    // b, y, which outlives the commands, and z
  EXPECT_THAT(Ranges(entry.entry()), ElementsAre(Pair(0, 1), Pair(1, 3), Pair(2, 3), Pair(3, 3)));
  EXPECT_THAT(format::LiveBytes(entry.entry()), ElementsAre(16, 24, 16, 24));
  std::vector<format::Lifetime> lifetimes = format::Lifetimes(entry.entry());
  EXPECT_FALSE(lifetimes[1].outlives_commands);
  EXPECT_TRUE(lifetimes[2].outlives_commands);
  EXPECT_FALSE(lifetimes[4].is_used);
  // The largest first, then b, y and z in order of their first use; the unused one is left out.
  EXPECT_THAT(format::RankAllocations(entry.entry(), lifetimes), ElementsAre(0, 1, 2, 3));
  std::swap(lifetimes[1].first, lifetimes[3].first);
  EXPECT_THAT(format::RankAllocations(entry.entry(), lifetimes), ElementsAre(0, 3, 2, 1));
}

TEST(LifetimesTest, UsesByWorkspacesAndCollectivesAreMarked) {
  testing::ProgramBuilder program;
  testing::EntryBuilder entry = program.Entry("forward");
  uint32_t a = entry.Input("a", MakeType(DType::kF32, {2, 2})), b = entry.Input("b", MakeType(DType::kF32, {2, 2}));
  uint32_t c = entry.Output("c", MakeType(DType::kF32, {2, 2})),
           workspace = entry.Arena("w", MakeType(DType::kI1, {100}));
  entry.Gemm(a, b, c).workspace = workspace;
  entry.Collective(format::CollectiveKind::all_reduce, c, c);
  std::vector<format::Lifetime> lifetimes = format::Lifetimes(entry.entry());
  EXPECT_FALSE(lifetimes[0].is_workspace);
  EXPECT_TRUE(lifetimes[0].is_exchanged);
  EXPECT_TRUE(lifetimes[1].is_workspace);
  EXPECT_FALSE(lifetimes[1].is_exchanged);
  EXPECT_THAT(format::LiveBytes(entry.entry()), ElementsAre(116, 16));
}

TEST(LifetimesTest, NoCommandsNeedNothing) {
  EXPECT_TRUE(format::Lifetimes({}).empty());
  EXPECT_TRUE(format::LiveBytes({}).empty());
}

} // namespace
} // namespace cs336::runtime::lifetimes_test
