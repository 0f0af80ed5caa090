//===- NcclGroupTest.cpp - Ranks on GPUs, with a fake NCCL ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclGroupFixture.h"

#include "absl/time/clock.h"

#include <gmock/gmock.h>

namespace cs336::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(NcclGroupTest, CollectivesRunOnAnotherStream) {
  for (bool use_graphs : {true, false}) {
    nccl.calls.clear();
    auto session = CreateRank(TwoRankProgram(), use_graphs);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(Run(**session).ok());
    EXPECT_THAT(Row(**session, "total", 2), ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(Row(**session, "whole", 5), ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(nccl.calls, ElementsAre("ncclAllReduce 12 7", "ncclAllGather 12 7"));
    EXPECT_EQ(fake.urgent_streams, use_graphs ? 1 : 2);
  }
  EXPECT_EQ(nccl.aborted, 0);
}

/// The fake NCCL copies the first part to all.
TEST_F(NcclGroupTest, PartsOfColumnsAreCopiedFirst) {
  ProgramBuilder program = TwoRankProgram();
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  entry.entry().commands.clear();
  entry.entry().events = 0;
  uint32_t x = entry.Input("values", MakeType(DType::kF32, {3, 4}));
  entry.Collective(format::CollectiveKind::all_to_all, entry.View(x, {2, 3, 2}, {2, 4, 1}),
                   entry.Output("parts", MakeType(DType::kF32, {2, 3, 2})));
  entry.entry().commands.back()->stream = 1;
  for (bool use_graphs : {true, false}) {
    nccl.calls.clear();
    auto session = CreateRank(program, use_graphs);
    ASSERT_TRUE(session.ok()) << session.status();
    Tensor values = MakeTensor<float>(DType::kF32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    ASSERT_TRUE((*session)->Run("forward", {{"x", values}, {"values", values}}).ok());
    EXPECT_THAT((*session)->Output("forward", "parts")->values<float>(),
                ElementsAre(0, 1, 4, 5, 8, 9, 0, 1, 4, 5, 8, 9));
    EXPECT_THAT(nccl.calls, ElementsAre("ncclAlltoAll 6 7"));
  }
}

TEST_F(NcclGroupTest, PartsOfOtherRanksAreCopiedAfterwards) {
  ProgramBuilder program = TwoRankProgram();
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  entry.entry().commands.clear();
  entry.entry().events = 0;
  uint32_t x = entry.Input("values", MakeType(DType::kF32, {3})), y = entry.Input("more", MakeType(DType::kF32, {3}));
  entry.GatherOthers(format::CollectiveKind::all_gather, x, entry.Output("others", MakeType(DType::kF32, {3})));
  entry.entry().commands.back()->stream = 1;
  // Each operand has memory of its own.
  format::CollectiveT &collective = *entry.entry().commands.back()->body.AsCollective();
  collective.sources.push_back(y);
  collective.targets.push_back(entry.Output("more others", MakeType(DType::kF32, {3})));
  for (bool use_graphs : {true, false}) {
    nccl.calls.clear();
    auto session = CreateRank(program, use_graphs);
    ASSERT_TRUE(session.ok()) << session.status();
    Tensor values = MakeTensor<float>(DType::kF32, {3}, {1, 2, 3}),
           more = MakeTensor<float>(DType::kF32, {3}, {4, 5, 6});
    Tensor unused = *Tensor::Create({DType::kF32, {3, 4}});
    ASSERT_TRUE((*session)->Run("forward", {{"x", unused}, {"values", values}, {"more", more}}).ok());
    EXPECT_THAT((*session)->Output("forward", "others")->values<float>(), ElementsAre(1, 2, 3));
    EXPECT_THAT((*session)->Output("forward", "more others")->values<float>(), ElementsAre(4, 5, 6));
    EXPECT_THAT(nccl.calls, ElementsAre("ncclAllGather 3 7", "ncclAllGather 3 7"));
  }
}

/// The collectives, and the waits that look for their progress, only start later.
TEST_F(NcclGroupTest, GatedRunsExchangeData) {
  for (bool use_graphs : {true, false}) {
    auto session = CreateRank(TwoRankProgram(), use_graphs);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)->GateRuns(absl::Seconds(20)).ok());
    int gates = fake.host_functions;
    absl::Time begin = absl::Now();
    for (int run = 0; run != 2; ++run)
      ASSERT_TRUE(Run(**session).ok());
    EXPECT_THAT(Row(**session, "total", 2), ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(Row(**session, "whole", 5), ElementsAre(0, 2, 4, 6));
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
    EXPECT_EQ(fake.host_functions, gates + 2);
  }
  EXPECT_EQ(nccl.aborted, 0);
}

TEST_F(NcclGroupTest, TheCommunicatorDoesNotBlock) {
  ASSERT_TRUE(CreateRank(TwoRankProgram()).ok());
  EXPECT_EQ(nccl.blocking, 0);
}

TEST_F(NcclGroupTest, AFailureOfAnotherRankEndsEverything) {
  auto session = CreateRank(TwoRankProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(Run(**session).ok());
  ranks->handler(absl::UnavailableError("rank 1 ended without leaving the group"));
  absl::Status expected = absl::UnavailableError("rank 1 ended without leaving the group");
  EXPECT_EQ((*session)->Synchronize().code(), expected.code());
  EXPECT_THAT(Message((*session)->Synchronize()), HasSubstr("rank 1 ended"));
  EXPECT_THAT(Message((*session)->Output("forward", "total").status()), HasSubstr("rank 1 ended"));
  EXPECT_THAT(Message(CreateRank(TwoRankProgram()).status()), Not(HasSubstr("rank 1 ended"))); // Another group.
  session->reset();
  EXPECT_EQ(nccl.aborted, 1);
}

TEST_F(NcclGroupTest, AFailureNamesTheCollectiveThatWaits) {
  auto session = CreateRank(TwoRankProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(Run(**session).ok());
  fake.drops_work = true;
  ASSERT_TRUE(Run(**session).ok());
  fake.is_busy = true;
  ranks->handler(absl::UnavailableError("rank 1 ended without leaving the group"));
  EXPECT_THAT(Message((*session)->Synchronize()),
              HasSubstr("collective 'c3' of entry 'forward': rank 1 ended without leaving the group"));
}

TEST_F(NcclGroupTest, ARankThatNeverComesEndsTheStart) {
  nccl.is_stuck = true;
  ranks->limit = absl::Milliseconds(20);
  absl::Status status = CreateRank(TwoRankProgram()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("another rank does not take part for 12ms"));
  EXPECT_EQ(ranks->reported.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(nccl.aborted, 1);
}

TEST_F(NcclGroupTest, ACollectiveThatDoesNotEndEndsTheGroup) {
  ranks->limit = absl::Milliseconds(500);
  auto session = CreateRank(TwoRankProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  for (int run = 0; run != 3; ++run)
    ASSERT_TRUE(Run(**session).ok());
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_TRUE(ranks->reported.ok()) << "nothing is to be done: " << ranks->reported;
  EXPECT_EQ(ranks->progress, 6);
  fake.drops_work = true;
  ASSERT_TRUE(Run(**session).ok());
  fake.is_busy = true;
  absl::Status status = (*session)->Synchronize();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("no collective has ended for 300ms, while 'c3' of entry 'forward'"));
  EXPECT_THAT(Message(Run(**session)), HasSubstr("no collective has ended for 300ms"));
}

TEST_F(NcclGroupTest, ErrorsNameTheCall) {
  for (const char *call : {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclAllReduce", "ncclAllGather"}) {
    nccl = FakeNccl();
    nccl.failing_call = call;
    absl::Status status = CreateRank(TwoRankProgram()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << call;
    EXPECT_THAT(Message(status), HasSubstr("the fake NCCL's error: its last message")) << call;
  }
}

TEST_F(NcclGroupTest, AnOldLibraryIsRefused) {
  nccl.version = 22706;
  absl::Status status = CreateRank(TwoRankProgram()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("libnccl.so.2 is NCCL 2.27.6, but 2.28.3 is needed"));
}

TEST_F(NcclGroupTest, MeansOfIntegersAreRefused) {
  ProgramBuilder program = TwoRankProgram();
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  uint32_t numbers = entry.Output("numbers", MakeType(DType::kI64, {2}));
  uint32_t input = entry.Input("n", MakeType(DType::kI64, {2}));
  entry.Collective(format::CollectiveKind::all_reduce, input, numbers, format::Reduction::mean);
  EXPECT_THAT(Message(CreateRank(program).status()), HasSubstr("a mean of i64 over ranks on GPUs"));
}

/// A process of its own, because the memory of a device that was given up is not released.
TEST_F(NcclGroupTest, WorkThatNeverEndsIsGivenUp) {
  auto run = [this] {
    auto session = CreateRank(TwoRankProgram());
    bool is_ok = session.ok() && Run(**session).ok();
    fake.is_busy = true;
    nccl.abort_ends_work = false;
    ranks->handler(absl::DeadlineExceededError("no heartbeat from rank 1 for 30s"));
    is_ok = is_ok && (*session)->Synchronize().message().find("no heartbeat from rank 1") != std::string::npos;
    session->reset();
    is_ok = is_ok && fake.allocated_bytes != 0;
    std::_Exit(is_ok ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

/// NCCL would use memory of a context that was released, and what destructors of libraries destroy.
TEST_F(NcclGroupTest, AnAbortThatGoesOnKeepsItsContext) {
  auto run = [this] {
    static struct AtExit {
      ~AtExit() { std::_Exit(2); }
    } at_exit;
    ranks->limit = absl::Milliseconds(500);
    auto session = CreateRank(TwoRankProgram());
    bool is_ok = session.ok() && Run(**session).ok();
    nccl.abort_never_ends = true;
    ranks->handler(absl::DeadlineExceededError("no heartbeat from rank 1 for 250ms"));
    is_ok = is_ok && (*session)->Synchronize().message().find("no heartbeat from rank 1") != std::string::npos;
    session->reset();
    std::exit(is_ok && fake.objects != 0 ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace cs336::runtime::testing
