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

/// Gathers of two ranks: each operand has 8 bytes, and its target 16.
class PeerSequenceTest : public ::testing::Test {
protected:
  PeerStart Add(PeerMethod method, std::vector<std::pair<int, int>> operands) {
    const format::CommandT *previous = commands.empty() ? nullptr : &commands.back();
    return AddAfter(previous, method, operands);
  }

  /// `operands`: offsets of the source and the target.
  PeerStart AddAfter(const format::CommandT *previous, PeerMethod method,
                     const std::vector<std::pair<int, int>> &operands) {
    std::vector<Transfer> transfers;
    for (auto [source, target] : operands)
      transfers.push_back({memory + source, memory + target, 2, 4, DType::kF32});
    return sequence.Add(previous, commands.emplace_back(), method, transfers);
  }

  char memory[256] = {};
  std::deque<format::CommandT> commands;
  PeerSequence sequence;
};

TEST_F(PeerSequenceTest, GathersOfOtherBytesAreAChain) {
  EXPECT_EQ(Add(PeerMethod::kGather, {{0, 64}, {8, 80}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(PeerMethod::kGather, {{16, 96}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(PeerMethod::kGather, {{16, 112}}), PeerStart::kPreviousCopies) << "two may read the same";
}

TEST_F(PeerSequenceTest, AConflictWithAnyGatherOfTheChainEndsIt) {
  EXPECT_EQ(Add(PeerMethod::kGather, {{0, 64}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(PeerMethod::kGather, {{8, 80}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(PeerMethod::kGather, {{16, 96}, {76, 112}}), PeerStart::kPreviousEnd) << "reads a target";
  EXPECT_EQ(Add(PeerMethod::kGather, {{0, 128}}), PeerStart::kPreviousCopies) << "the chain is a new one";
  EXPECT_EQ(Add(PeerMethod::kGather, {{24, 144}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(PeerMethod::kGather, {{32, 4}}), PeerStart::kPreviousEnd) << "writes sources";
}

TEST_F(PeerSequenceTest, AReductionEndsAChain) {
  EXPECT_EQ(Add(PeerMethod::kGather, {{0, 64}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(PeerMethod::kDirectReduction, {{8, 80}}), PeerStart::kPreviousEnd);
  EXPECT_EQ(Add(PeerMethod::kGather, {{16, 96}}), PeerStart::kPreviousEnd);
  EXPECT_EQ(Add(PeerMethod::kGather, {{24, 112}}), PeerStart::kPreviousCopies);
}

TEST_F(PeerSequenceTest, AStagedReductionBeginsBeforeTheEndOfAnother) {
  EXPECT_EQ(Add(PeerMethod::kStagedReduction, {{0, 0}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(PeerMethod::kStagedReduction, {{16, 16}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(Add(PeerMethod::kStagedReduction, {{0, 32}}), PeerStart::kPreviousCopies) << "the first one has ended";
  EXPECT_EQ(Add(PeerMethod::kStagedReduction, {{36, 48}}), PeerStart::kPreviousEnd) << "reads a result";
  EXPECT_EQ(Add(PeerMethod::kDirectReduction, {{64, 64}}), PeerStart::kPreviousEnd);
  EXPECT_EQ(Add(PeerMethod::kStagedReduction, {{80, 80}}), PeerStart::kPreviousEnd);
  EXPECT_EQ(Add(PeerMethod::kGather, {{96, 112}}), PeerStart::kPreviousEnd);
}

TEST_F(PeerSequenceTest, AnotherCommandInBetweenRequiresABarrier) {
  EXPECT_EQ(Add(PeerMethod::kGather, {{0, 64}}), PeerStart::kBarrier);
  commands.emplace_back();
  EXPECT_EQ(Add(PeerMethod::kGather, {{8, 80}}), PeerStart::kBarrier);
  EXPECT_EQ(Add(PeerMethod::kGather, {{16, 96}}), PeerStart::kPreviousCopies);
  EXPECT_EQ(AddAfter(nullptr, PeerMethod::kGather, {{24, 112}}), PeerStart::kBarrier);
}

} // namespace
} // namespace cs336::runtime::testing::peer_sequence_test
