//===- PeerSequenceTest.cpp - Collectives that follow each other ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerSequence.h"

#include <deque>
#include <gtest/gtest.h>

namespace cs336::runtime::testing::peer_sequence_test {
namespace {

using format::CollectiveKind;

/// Gathers of two ranks: each operand has 8 bytes, and its target 16.
class PeerSequenceTest : public ::testing::Test {
protected:
  PeerStart Add(CollectiveKind kind, std::vector<std::pair<int, int>> operands) {
    const format::CommandT *previous = commands.empty() ? nullptr : &commands.back();
    return AddAfter(previous, kind, operands);
  }

  /// `operands`: offsets of the source and the target.
  PeerStart AddAfter(const format::CommandT *previous, CollectiveKind kind,
                     const std::vector<std::pair<int, int>> &operands) {
    std::vector<Transfer> transfers;
    for (auto [source, target] : operands)
      transfers.push_back({memory + source, memory + target, 2, 4, DType::kF32});
    return sequence.Add(previous, commands.emplace_back(), kind, transfers);
  }

  char memory[256] = {};
  std::deque<format::CommandT> commands;
  PeerSequence sequence;
};

TEST_F(PeerSequenceTest, GathersOfOtherBytesAreAChain) {
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{0, 64}, {8, 80}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{16, 96}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{16, 112}}), PeerStart::kPreviousCopies) << "two may read the same";
}

TEST_F(PeerSequenceTest, AConflictWithAnyGatherOfTheChainEndsIt) {
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{0, 64}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{8, 80}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{16, 96}, {76, 112}}), PeerStart::kPreviousEnd) << "reads a target";
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{0, 128}}), PeerStart::kPreviousCopies) << "the chain is a new one";
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{24, 144}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{32, 4}}), PeerStart::kPreviousEnd) << "writes sources";
}

TEST_F(PeerSequenceTest, AnExchangeOfPartsContinuesAChain) {
  EXPECT_EQ(Add(CollectiveKind::all_to_all, {{0, 64}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{8, 80}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(CollectiveKind::all_to_all, {{16, 96}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(CollectiveKind::all_to_all, {{96, 112}}), PeerStart::kPreviousEnd) << "reads a target";
}

TEST_F(PeerSequenceTest, AReductionEndsAChain) {
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{0, 64}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(CollectiveKind::all_reduce, {{8, 80}}), PeerStart::kPreviousEnd);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{16, 96}}), PeerStart::kPreviousEnd);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{24, 112}}), PeerStart::kPreviousCopies);
}

TEST_F(PeerSequenceTest, AnotherCommandInBetweenRequiresABarrier) {
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{0, 64}}), PeerStart::kBarrier);
  commands.emplace_back();
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{8, 80}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(CollectiveKind::all_gather, {{16, 96}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(AddAfter(nullptr, CollectiveKind::all_gather, {{24, 112}}), PeerStart::kBarrier);
}

} // namespace
} // namespace cs336::runtime::testing::peer_sequence_test
