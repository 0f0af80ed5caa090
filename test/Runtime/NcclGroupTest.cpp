//===- NcclGroupTest.cpp - Ranks on GPUs, with a fake NCCL ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaSessionFixture.h"
#include "cs336/runtime/Communicator.h"
#include "fake_nccl/FakeNccl.h"

#include "absl/time/clock.h"

#include <gmock/gmock.h>
#include <utility>

namespace cs336::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Rank 0 of two, whose peer agrees with everything.
class AgreeingRanks : public Communicator {
public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  absl::Status AllReduce(const void *, void *, int64_t, DType, Reduction) override { return absl::OkStatus(); }
  absl::Status AllGather(const void *, void *, int64_t, DType) override { return absl::OkStatus(); }
  absl::Status ReduceScatter(const void *, void *, int64_t, DType, Reduction) override { return absl::OkStatus(); }
  absl::Status Broadcast(const void *, void *, int64_t, DType, int) override { return absl::OkStatus(); }
  absl::Status AllToAll(const void *, void *, int64_t, DType) override { return absl::OkStatus(); }
  absl::Status CompareProgram(uint64_t) override { return absl::OkStatus(); }
  absl::Duration timeout() const override { return limit; }
  void OnFailure(std::function<void(const absl::Status &)> called) override { handler = std::move(called); }
  void Fail(const absl::Status &failure) override {
    reported = failure;
    if (handler)
      handler(failure);
  }
  void NoteProgress(int64_t collectives) override { progress = collectives; }

  absl::Duration limit = absl::Seconds(30);
  std::function<void(const absl::Status &)> handler;
  absl::Status reported;
  int64_t progress = 0;
};

/// Computes total = mean over ranks of (x * norm), on another stream than the
/// kernel, and whole = the parts of all ranks, one after the other.
ProgramBuilder Program() {
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  program.executable().world_size = 2;
  AddObject(program, "sm_90a");
  program.Variable("norm", MakeType(DType::kF32, {4}));
  uint32_t scale = AddKernel(program, "scale_rows");
  EntryBuilder entry = program.Entry("forward");
  entry.entry().streams = 2;
  entry.entry().events = 2;
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {3, 4}));
  uint32_t total = entry.Output("total", MakeType(DType::kF32, {3, 4}));
  uint32_t whole = entry.Output("whole", MakeType(DType::kF32, {6, 4}));
  entry.Launch(scale, {x, entry.Variable("norm"), total}, {2}, 1);
  entry.Record(0);
  auto on_side = [&] { entry.entry().commands.back()->stream = 1; };
  entry.Wait(0);
  on_side();
  entry.Collective(format::CollectiveKind::all_reduce, total, total, format::Reduction::mean);
  on_side();
  entry.Collective(format::CollectiveKind::all_gather, total, whole);
  on_side();
  entry.Record(1);
  on_side();
  entry.Wait(1);
  return program;
}

class NcclGroupTest : public CudaSessionFixture {
protected:
  void SetUp() override {
    CudaSessionFixture::SetUp();
    nccl = FakeNccl();
  }
  void TearDown() override {
    CudaSessionFixture::TearDown();
    EXPECT_EQ(nccl.comms, 0);
  }

  absl::StatusOr<std::unique_ptr<Session>> CreateRank(const ProgramBuilder &program, bool use_graphs = true) const {
    SessionOptions options;
    options.communicator = ranks;
    options.use_graphs = use_graphs;
    absl::StatusOr<std::unique_ptr<Session>> session = Create(program, options);
    if (session.ok()) {
      Tensor norm = *Tensor::Create({DType::kF32, {4}});
      for (int i = 0; i != 4; ++i)
        norm.mutable_values<float>()[i] = static_cast<float>(i);
      EXPECT_TRUE((*session)->SetVariable("norm", norm).ok());
    }
    return session;
  }

  static absl::Status Run(Session &session) {
    Tensor x = *Tensor::Create({DType::kF32, {3, 4}});
    for (int i = 0; i != 12; ++i)
      x.mutable_values<float>()[i] = 2;
    return session.Run("forward", {{"x", x}}, nullptr);
  }

  static std::vector<float> Row(const Session &session, const char *name, int64_t row) {
    absl::StatusOr<TensorView> value = session.Output("forward", name);
    EXPECT_TRUE(value.ok()) << value.status();
    const float *begin = value.ok() ? value->values<float>().data() + row * 4 : nullptr;
    return value.ok() ? std::vector<float>(begin, begin + 4) : std::vector<float>();
  }

  FakeNccl &nccl = TheFakeNccl();
  std::shared_ptr<AgreeingRanks> ranks = std::make_shared<AgreeingRanks>();
};

TEST_F(NcclGroupTest, CollectivesRunOnAnotherStream) {
  for (bool use_graphs : {true, false}) {
    nccl.calls.clear();
    auto session = CreateRank(Program(), use_graphs);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(Run(**session).ok());
    EXPECT_THAT(Row(**session, "total", 2), ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(Row(**session, "whole", 5), ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(nccl.calls, ElementsAre("ncclAllReduce 12 7", "ncclAllGather 12 7"));
    EXPECT_EQ(fake.urgent_streams, use_graphs ? 1 : 2);
  }
  EXPECT_EQ(nccl.aborted, 0);
}

TEST_F(NcclGroupTest, TheCommunicatorDoesNotBlock) {
  ASSERT_TRUE(CreateRank(Program()).ok());
  EXPECT_EQ(nccl.blocking, 0);
}

TEST_F(NcclGroupTest, AFailureOfAnotherRankEndsEverything) {
  auto session = CreateRank(Program());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(Run(**session).ok());
  ranks->handler(absl::UnavailableError("rank 1 ended without leaving the group"));
  absl::Status expected = absl::UnavailableError("rank 1 ended without leaving the group");
  EXPECT_EQ((*session)->Synchronize().code(), expected.code());
  EXPECT_THAT(Message((*session)->Synchronize()), HasSubstr("rank 1 ended"));
  EXPECT_THAT(Message((*session)->Output("forward", "total").status()), HasSubstr("rank 1 ended"));
  EXPECT_THAT(Message(CreateRank(Program()).status()), Not(HasSubstr("rank 1 ended"))); // Another group.
  session->reset();
  EXPECT_EQ(nccl.aborted, 1);
}

TEST_F(NcclGroupTest, ARankThatNeverComesEndsTheStart) {
  nccl.is_stuck = true;
  ranks->limit = absl::Milliseconds(20);
  absl::Status status = CreateRank(Program()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("another rank does not take part for 20ms"));
  EXPECT_EQ(ranks->reported.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(nccl.aborted, 1);
}

TEST_F(NcclGroupTest, ACollectiveThatDoesNotEndEndsTheGroup) {
  ranks->limit = absl::Milliseconds(200);
  auto session = CreateRank(Program());
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
  EXPECT_THAT(Message(status), HasSubstr("no collective has ended for 250ms, while 'c3' of entry 'forward'"));
  EXPECT_THAT(Message(Run(**session)), HasSubstr("no collective has ended for 250ms"));
}

TEST_F(NcclGroupTest, ErrorsNameTheCall) {
  for (const char *call : {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclAllReduce", "ncclAllGather"}) {
    nccl = FakeNccl();
    nccl.failing_call = call;
    absl::Status status = CreateRank(Program()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << call;
    EXPECT_THAT(Message(status), HasSubstr("the fake NCCL's error: its last message")) << call;
  }
}

TEST_F(NcclGroupTest, AnOldLibraryIsRefused) {
  nccl.version = 22706;
  absl::Status status = CreateRank(Program()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("libnccl.so.2 is NCCL 2.27.6, but 2.28.3 is needed"));
}

TEST_F(NcclGroupTest, MeansOfIntegersAreRefused) {
  ProgramBuilder program = Program();
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  uint32_t numbers = entry.Output("numbers", MakeType(DType::kI64, {2}));
  uint32_t input = entry.Input("n", MakeType(DType::kI64, {2}));
  entry.Collective(format::CollectiveKind::all_reduce, input, numbers, format::Reduction::mean);
  EXPECT_THAT(Message(CreateRank(program).status()), HasSubstr("a mean of i64 over ranks on GPUs"));
}

/// A process of its own, because the memory of a device that was given up is not released.
TEST_F(NcclGroupTest, WorkThatNeverEndsIsGivenUp) {
  auto run = [this] {
    auto session = CreateRank(Program());
    bool is_ok = session.ok() && Run(**session).ok();
    fake.is_busy = true;
    nccl.abort_ends_work = false;
    ranks->handler(absl::DeadlineExceededError("no sign of life from rank 1 for 30s"));
    is_ok = is_ok && (*session)->Synchronize().message().find("no sign of life from rank 1") != std::string::npos;
    session->reset();
    is_ok = is_ok && fake.allocated_bytes != 0;
    std::_Exit(is_ok ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace cs336::runtime::testing
