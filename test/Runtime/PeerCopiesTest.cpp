//===- PeerCopiesTest.cpp - Copies that become one ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerCopies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace cs336::runtime::testing::peer_copies_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The fields of a copy: the targets and sources of its first row, bytes, rows, and both pitches.
using Fields = std::tuple<uint64_t, uint64_t, int64_t, int64_t, int64_t, int64_t>;

std::vector<Fields> Join(const std::vector<PeerCopy> &added) {
  PeerCopies copies;
  for (const PeerCopy &each : added)
    copies.Add(each);
  std::vector<Fields> joined;
  for (const PeerCopy &each : copies.copies())
    joined.emplace_back(each.dst, each.src, each.bytes, each.rows, each.dst_pitch, each.src_pitch);
  return joined;
}

TEST(PeerCopiesTest, RowsAtEqualDistancesAreOneCopy) {
  EXPECT_THAT(Join({}), IsEmpty());
  EXPECT_THAT(Join({{1000, 0, 16}}), ElementsAre(Fields(1000, 0, 16, 1, 0, 0)));
  EXPECT_THAT(Join({{1000, 0, 16}, {1100, 50, 16}, {1200, 100, 16}}), ElementsAre(Fields(1000, 0, 16, 3, 100, 50)));
}

TEST(PeerCopiesTest, MatricesOfSeveralLayers) {
  // Two matrices of three layers.
  EXPECT_THAT(Join({{1000, 0, 64}, {1064, 64, 16}, {1100, 80, 64}, {1164, 144, 16}, {1200, 160, 64}, {1264, 224, 16}}),
              ElementsAre(Fields(1000, 0, 64, 3, 100, 80), Fields(1064, 64, 16, 3, 100, 80)));
}

TEST(PeerCopiesTest, OthersStayApart) {
  const PeerCopy first = {1000, 1000, 16};
  for (PeerCopy second : {PeerCopy{1100, 1100, 32}, PeerCopy{900, 1100, 16}, PeerCopy{1100, 900, 16},
                          PeerCopy{1008, 1100, 16}, PeerCopy{1000 + (uint64_t{1} << 31), 1100, 16}})
    EXPECT_EQ(Join({first, second}).size(), 2u) << second.dst << " " << second.src << " " << second.bytes;
  EXPECT_EQ(Join({first, {1100, 1100, 16}, {1200, 1201, 16}}).size(), 2u) << "another distance";
  EXPECT_EQ(Join({first, {5000, 1000, 16}}).size(), 2u) << "to another rank";
  EXPECT_EQ(Join({{1000, 1000, 0}}).size(), 0u);
  EXPECT_EQ(Join({{1000, 1000, 16, 1, 2}, {1100, 1100, 16, 1, 2}}).size(), 1u);
  EXPECT_EQ(Join({{1000, 1000, 16, 1, 2}, {1100, 1100, 16, 3, 2}}).size(), 2u) << "to another allocation";
  EXPECT_EQ(Join({{1000, 1000, 16, 1, 2}, {1100, 1100, 16, 1, 3}}).size(), 2u) << "from another allocation";
}

/// Checks that random copies copy the same bytes when they are joined.
TEST(PeerCopiesTest, JoinedCopiesCopyTheSameBytes) {
  std::mt19937 random(3);
  for (int trial = 0; trial != 200; ++trial) {
    PeerCopies copies;
    std::map<uint64_t, uint64_t> expected, got; // The source of each byte that is written.
    for (uint64_t i = 0, dst = 0, src = 1000; i != 12; ++i) {
      auto bytes = static_cast<int64_t>(random() % 3 * 16);
      copies.Add({dst, src, bytes});
      for (int64_t at = 0; at != bytes; ++at)
        expected[dst + at] = src + at;
      dst += 32 + random() % 2 * 16;
      src += 32 + random() % 2 * 16;
    }
    for (const PeerCopy &copy : copies.copies())
      for (int64_t row = 0; row != copy.rows; ++row)
        for (int64_t at = 0; at != copy.bytes; ++at)
          EXPECT_TRUE(got.emplace(copy.dst + row * copy.dst_pitch + at, copy.src + row * copy.src_pitch + at).second);
    EXPECT_EQ(got, expected) << "trial " << trial;
  }
}

} // namespace
} // namespace cs336::runtime::testing::peer_copies_test
