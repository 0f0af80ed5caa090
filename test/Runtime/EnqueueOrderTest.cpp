//===- EnqueueOrderTest.cpp - The order of commands of several streams ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/EnqueueOrder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace cs336::runtime::testing::enqueue_order_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CommandInfo Work(int64_t stream) { return {.kind = "launch", .stream = stream}; }
CommandInfo Record(int64_t stream, int64_t event) { return {.kind = "record", .stream = stream, .event = event}; }
CommandInfo Wait(int64_t stream, int64_t event) { return {.kind = "wait", .stream = stream, .event = event}; }

TEST(EnqueueOrderTest, OneStreamStaysInOrder) {
  EXPECT_THAT(OrderForEnqueue({}), IsEmpty());
  EXPECT_THAT(OrderForEnqueue({Work(0), Record(0, 0), Wait(0, 0), Work(0)}), ElementsAre(0, 1, 2, 3));
}

/// Computation of two layers, each of which waits for its gather.
TEST(EnqueueOrderTest, ComputationFollowsItsGather) {
  EXPECT_THAT(OrderForEnqueue({Work(1), Record(1, 0), Work(1), Record(1, 1), Wait(0, 0), Work(0), Wait(0, 1), Work(0)}),
              ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

TEST(EnqueueOrderTest, ASideStreamWaitsUntilTheMainStreamCannotGoOn) {
  EXPECT_THAT(OrderForEnqueue({Work(0), Record(0, 0), Wait(1, 0), Work(1), Record(1, 1), Work(0), Work(0), Wait(0, 1)}),
              ElementsAre(0, 1, 5, 6, 2, 3, 4, 7));
}

/// A backward pass of three gradients, each of which is reduced.
TEST(EnqueueOrderTest, AReductionPrecedesTheNextGradient) {
  EXPECT_THAT(OrderForEnqueue({Work(0), Record(0, 0), Wait(1, 0), Work(1), Work(0), Record(0, 1), Wait(1, 1), Work(1),
                               Work(0), Record(0, 2), Wait(1, 2), Work(1)}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

/// The main stream waits for gathers, which wait for it: the first command of stream 1 cannot both follow and precede
/// the computation.
TEST(EnqueueOrderTest, TheMainStreamIsPreferred) {
  EXPECT_THAT(OrderForEnqueue({Work(1), Record(1, 0), Work(0), Record(0, 1), Wait(1, 1), Work(1), Record(1, 2), Work(0),
                               Wait(0, 0), Work(0), Wait(0, 2), Work(0)}),
              ElementsAre(2, 3, 7, 0, 1, 8, 9, 4, 5, 6, 10, 11));
}

TEST(EnqueueOrderTest, AnEventIsRecordedAgainAfterItsWaits) {
  // Stream 1 could record event 0 again at once, but stream 0 still waits for the first record.
  EXPECT_THAT(OrderForEnqueue({Record(1, 0), Work(0), Wait(0, 0), Record(1, 0), Wait(0, 0)}),
              ElementsAre(1, 0, 2, 3, 4));
}

/// Checks random commands of three streams for the order within streams and between records and waits.
TEST(EnqueueOrderTest, KeepsTheOrderOfStreamsAndEvents) {
  std::mt19937 random(7);
  for (int trial = 0; trial != 300; ++trial) {
    std::vector<CommandInfo> infos;
    for (unsigned i = 0, count = random() % 40; i != count; ++i) {
      int64_t stream = random() % 3, event = random() % 3;
      unsigned kind = random() % 3;
      infos.push_back(kind == 0 ? Work(stream) : kind == 1 ? Record(stream, event) : Wait(stream, event));
    }
    std::vector<size_t> order = OrderForEnqueue(infos), place(infos.size());
    ASSERT_EQ(order.size(), infos.size());
    for (size_t i = 0; i != order.size(); ++i)
      place[order[i]] = i;
    for (size_t j = 0; j != infos.size(); ++j)
      for (size_t i = 0; i != j; ++i) {
        bool same_event = infos[i].event >= 0 && infos[i].event == infos[j].event;
        bool has_record = infos[i].kind == "record" || infos[j].kind == "record";
        if (infos[i].stream == infos[j].stream || (same_event && has_record)) {
          EXPECT_LT(place[i], place[j]) << "trial " << trial << ": " << i << " before " << j;
        }
      }
  }
}

} // namespace
} // namespace cs336::runtime::testing::enqueue_order_test
