//===- GroupFaultTest.cpp - Groups whose ranks fail -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "TcpTestGroup.h"
#include "cs336/runtime/Session.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace cs336::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::RunRanks;
using testing::TestGroup;

enum class Kind { kInProcess, kTcp };

class GroupFaultTest : public ::testing::TestWithParam<Kind> {
protected:
  static TestGroup Create(int size, absl::Duration timeout) {
    if (GetParam() == Kind::kTcp)
      return testing::CreateTcpGroup(size, timeout);
    return {CreateInProcessGroup(size, timeout), nullptr};
  }
};

TEST_P(GroupFaultTest, MismatchedCallsAreAnErrorForAll) {
  TestGroup group = Create(2, absl::Seconds(30));
  float values[2][4] = {};
  absl::Status statuses[2];
  std::thread other([&] { statuses[1] = group[1]->AllReduce(values[1], values[1], 3, DType::kF32, Reduction::kSum); });
  statuses[0] = group[0]->AllReduce(values[0], values[0], 4, DType::kF32, Reduction::kSum);
  other.join();
  for (const absl::Status &status : statuses)
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  // The group still works.
  std::thread again([&] { statuses[1] = group[1]->Broadcast(values[1], values[1], 4, DType::kF32, 0); });
  statuses[0] = group[0]->Broadcast(values[0], values[0], 4, DType::kF32, 0);
  again.join();
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
}

TEST_P(GroupFaultTest, ARankThatLeftIsAnError) {
  TestGroup group = Create(2, absl::Seconds(30));
  float value = 0;
  std::thread leaving([&] {
    absl::SleepFor(absl::Milliseconds(20));
    group[1].reset();
  });
  absl::Status status = group[0]->Broadcast(&value, &value, 1, DType::kF32, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "rank 1 has left the group");
  leaving.join();
}

TEST_P(GroupFaultTest, ARankThatDoesNotComeIsAnError) {
  TestGroup group = Create(2, absl::Seconds(1));
  float value = 0;
  absl::Time begin = absl::Now();
  absl::Status late = group[0]->Broadcast(&value, &value, 1, DType::kF32, 0);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(late.message(), "waited 600ms for rank 1");
  absl::Status after = group[1]->Broadcast(&value, &value, 1, DType::kF32, 0);
  EXPECT_FALSE(after.ok());
  EXPECT_THAT(std::string(after.message()), AllOf(HasSubstr("rank 0"), HasSubstr("rank 1")));
}

/// The ranks that do not wait for the one that left learn of it too.
TEST_P(GroupFaultTest, TheFirstFailureEndsTheGroup) {
  TestGroup group = Create(3, absl::Seconds(30));
  group[1].reset();
  float value = 0;
  for (int round = 0; round != 2; ++round)
    for (int rank : {0, 2}) {
      absl::Status status = group[rank]->AllReduce(&value, &value, 1, DType::kF32, Reduction::kSum);
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 has left the group"));
    }
}

TEST_P(GroupFaultTest, ADifferentProgramIsAnErrorForAll) {
  for (int different : {0, 2}) {
    TestGroup group = Create(3, absl::Seconds(30));
    for (const absl::Status &status :
         RunRanks(3, [&](int rank) { return group[rank]->CompareProgram(rank == different ? 0xABC : 7); })) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(absl::StrCat("rank ", different, " runs program 0000000000000abc, but rank ",
                                         different == 0 ? 1 : 0, " runs program 0000000000000007")));
    }
  }
}

TEST_P(GroupFaultTest, SessionsComparePrograms) {
  TestGroup group = Create(2, absl::Seconds(30));
  for (const absl::Status &status : RunRanks(2, [&](int rank) {
         testing::ProgramBuilder program;
         program.executable().world_size = 2;
         program.executable().program_hash = 10 + rank;
         testing::EntryBuilder entry = program.Entry("train");
         uint32_t x = entry.Output("x", testing::MakeType(DType::kF32, {2}));
         entry.Collective(format::CollectiveKind::broadcast, x, x);
         SessionOptions options;
         options.num_threads = 1;
         options.communicator = std::move(group[rank]);
         auto session = *Session::Create(*program.Build(), options);
         return session->Run("train", {});
       })) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 runs program 000000000000000b, but rank 0"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, GroupFaultTest, ::testing::Values(Kind::kInProcess, Kind::kTcp),
                         [](const auto &info) { return info.param == Kind::kTcp ? "Tcp" : "InProcess"; });

} // namespace
} // namespace cs336::runtime
