//===- ShardedVariablesTest.cpp - Variables that ranks share --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "SessionParts.h"
#include "cs336/runtime/PlanSummary.h"

#include "absl/time/time.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cs336::runtime::sharded_variables_test {
namespace {

using ::testing::ElementsAreArray;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;

constexpr int64_t kRows = 12, kColumns = 3;

/// A program with a packed parameter of 12 rows, whose views of 5 and 7 rows do
/// not end where shards do, its moment, a derived copy of it, and a vector that
/// all ranks have whole. The entry "own" returns the rows that a rank stores.
ProgramBuilder MakeProgram(int64_t ranks) {
  ProgramBuilder program;
  program.executable().world_size = ranks;
  format::VariableT &packed = program.Variable("ab", MakeType(DType::kF32, {kRows, kColumns}));
  packed.init->kind = format::InitKind::truncated_normal;
  packed.init->std = 0.5;
  packed.init->cut = 3;
  packed.shards = ranks;
  ProgramBuilder::AddViews(packed, {{"a", 5}, {"b", 7}});
  program.Variable("m", MakeType(DType::kF32, {kRows}), format::VariableKind::state).shards = ranks;
  program.Variable("copy", MakeType(DType::kF32, {kRows, kColumns}), format::VariableKind::derived).shards = ranks;
  program.Variable("norm", MakeType(DType::kF32, {4})).init->kind = format::InitKind::ones;
  EntryBuilder prepare = program.Entry("prepare");
  prepare.Copy(prepare.OwnPart("ab"), prepare.OwnPart("copy"));
  EntryBuilder own = program.Entry("own");
  uint32_t output = own.Output("rows", MakeType(DType::kF32, {kRows / ranks, kColumns}));
  own.Copy(own.OwnPart("copy"), output);
  return program;
}

/// One session per rank of a group, all alive until the end.
class Ranks {
public:
  explicit Ranks(int count, const std::function<void(ProgramBuilder &, int rank)> &change = nullptr) {
    auto group = CreateInProcessGroup(count, absl::Seconds(30));
    for (int rank = 0; rank != count; ++rank) {
      ProgramBuilder program = MakeProgram(count);
      if (change)
        change(program, rank);
      SessionOptions options;
      options.num_threads = 1;
      options.communicator = std::move(group[rank]);
      sessions_.push_back(testing::MakeSession(program, options));
    }
  }

  /// Calls `function` on all ranks at once.
  void Run(const std::function<void(Session &session, int rank)> &function) {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank != sessions_.size(); ++rank)
      threads.emplace_back([&, rank] { function(*sessions_[rank], static_cast<int>(rank)); });
    for (std::thread &thread : threads)
      thread.join();
  }

  Session &operator[](int rank) { return *sessions_[rank]; }
  void Leave(int rank) { sessions_[rank].reset(); }

private:
  std::vector<std::unique_ptr<Session>> sessions_;
};

std::vector<float> Values(const TensorView &view) {
  absl::Span<const float> values = view.values<float>();
  return {values.begin(), values.end()};
}

std::vector<float> Get(const Session &session, const char *name) {
  auto value = session.GetVariable(name);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? Values(*value) : std::vector<float>();
}

/// Returns the rows that a rank's commands see.
std::vector<float> OwnRows(Session &session) {
  EXPECT_TRUE(session.Run("own", {}).ok());
  return Values(*session.Output("own", "rows"));
}

/// Returns the part of all elements that a rank stores.
std::vector<float> PartOf(const std::vector<float> &all, int rank, int ranks) {
  size_t size = all.size() / ranks;
  return {all.begin() + rank * size, all.begin() + (rank + 1) * size};
}

Tensor Counting(Dims shape, float first) {
  Tensor tensor = *Tensor::Create({DType::kF32, std::move(shape)});
  for (float &value : tensor.mutable_values<float>())
    value = first++;
  return tensor;
}

class ShardedVariablesTest : public ::testing::TestWithParam<int> {};

TEST_P(ShardedVariablesTest, InitialValuesAreThoseOfTheWhole) {
  auto alone = testing::MakeSession(MakeProgram(1));
  ASSERT_TRUE(alone->InitializeVariables(7).ok());
  std::vector<float> expected = Get(*alone, "ab"), expected_b = Get(*alone, "b");
  Ranks ranks(GetParam());
  ranks.Run([&](Session &session, int rank) {
    ASSERT_TRUE(session.InitializeVariables(7).ok());
    EXPECT_THAT(OwnRows(session), ElementsAreArray(PartOf(expected, rank, GetParam())));
    EXPECT_EQ(Get(session, "ab"), expected);
    EXPECT_EQ(Get(session, "b"), expected_b);
    EXPECT_EQ(Get(session, "norm"), std::vector<float>(4, 1));
  });
}

TEST_P(ShardedVariablesTest, CheckpointsHoldWholeTensors) {
  auto alone = testing::MakeSession(MakeProgram(1));
  TensorMap checkpoint;
  checkpoint.emplace("a", Counting({5, kColumns}, 0));
  checkpoint.emplace("b", *Cast(Counting({7, kColumns}, 15), DType::kBF16));
  checkpoint.emplace("m", Counting({kRows}, 100));
  checkpoint.emplace("norm", Counting({4}, 200));
  ASSERT_TRUE(alone->LoadVariables(checkpoint).ok());
  TensorMap expected = *alone->SaveVariables();
  Ranks ranks(GetParam());
  ranks.Run([&](Session &session, int rank) {
    ASSERT_TRUE(session.LoadVariables(checkpoint).ok());
    EXPECT_EQ(OwnRows(session), PartOf(Values(Counting({kRows, kColumns}, 0)), rank, GetParam()));
    auto saved = session.SaveVariables();
    ASSERT_TRUE(saved.ok()) << saved.status();
    ASSERT_EQ(saved->size(), expected.size());
    for (const auto &[name, tensor] : expected) {
      EXPECT_EQ(saved->at(name).type(), tensor.type());
      EXPECT_EQ(Values(saved->at(name)), Values(tensor)) << name;
    }
  });
}

TEST_P(ShardedVariablesTest, SettingAViewSetsItsRowsOnEveryRank) {
  Ranks ranks(GetParam());
  ranks.Run([&](Session &session, int) {
    ASSERT_TRUE(session.InitializeVariables(1).ok());
    std::vector<float> a = Get(session, "a");
    Tensor b = Counting({7, kColumns}, 50), m = Counting({kRows}, 90);
    ASSERT_TRUE(session.SetVariable("b", b).ok());
    ASSERT_TRUE(session.SetVariable("m", m, Placement::kDevice).ok());
    EXPECT_EQ(Get(session, "b"), Values(b));
    EXPECT_EQ(Get(session, "a"), a);
    EXPECT_EQ(Get(session, "m"), Values(m));
    absl::Status status = session.SetVariable("m", Counting({kRows / GetParam()}, 0));
    EXPECT_THAT(Message(status), HasSubstr("variable 'm' is a f32[12], but the value is a f32["));
  });
}

TEST_P(ShardedVariablesTest, EachRankComputesItsPartOfADerivedValue) {
  Ranks ranks(GetParam());
  ranks.Run([&](Session &session, int rank) {
    ASSERT_TRUE(session.InitializeVariables(1).ok());
    EXPECT_EQ(Get(session, "copy"), Get(session, "ab"));
    Tensor b = Counting({7, kColumns}, 50);
    ASSERT_TRUE(session.SetVariable("b", b).ok());
    EXPECT_NE(Get(session, "copy"), Get(session, "ab"));
    EXPECT_EQ(OwnRows(session), PartOf(Get(session, "ab"), rank, GetParam()));
    EXPECT_EQ(Get(session, "copy"), Get(session, "ab"));
    TensorMap saved = *session.SaveVariables();
    EXPECT_FALSE(saved.contains("copy"));
    ASSERT_TRUE(session.LoadVariables(saved).ok());
    EXPECT_EQ(OwnRows(session), PartOf(Get(session, "ab"), rank, GetParam()));
  });
}

TEST_P(ShardedVariablesTest, NoCallerGetsAPartAsTheWhole) {
  Ranks ranks(GetParam());
  for (const char *name : {"ab", "a", "m", "copy"}) {
    absl::Status status = ranks[0].VariableOnDevice(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), HasSubstr("is sharded over " + std::to_string(GetParam()) + " ranks"));
  }
  EXPECT_TRUE(ranks[0].VariableOnDevice("norm").ok());
}

TEST_P(ShardedVariablesTest, StoresOneOfThePartsOnly) {
  auto plan = [](int64_t ranks) { return *Summarize(**MakeProgram(ranks).Build(), "own"); };
  EXPECT_EQ(plan(1).parameter_bytes, (kRows * kColumns + 4) * 4);
  EXPECT_EQ(plan(GetParam()).parameter_bytes, (kRows * kColumns / GetParam() + 4) * 4);
  EXPECT_EQ(plan(GetParam()).state_bytes, kRows / GetParam() * 4);
  EXPECT_EQ(plan(GetParam()).derived_bytes, kRows * kColumns / GetParam() * 4);
}

TEST_P(ShardedVariablesTest, SumsOfSquaresAreThoseOfWholeValues) {
  Ranks ranks(GetParam());
  std::mutex mutex;
  std::map<std::string, std::set<double>> sums;
  ranks.Run([&](Session &session, int) {
    ASSERT_TRUE(session.InitializeVariables(3).ok());
    // A sharded variable, its views, another one, and one that all ranks have.
    for (const char *name : {"ab", "a", "b", "m", "norm"}) {
      double whole = *SumOfSquares(*session.GetVariable(name));
      absl::StatusOr<double> sum = session.SumOfSquares(name);
      ASSERT_TRUE(sum.ok()) << sum.status();
      EXPECT_NEAR(*sum, whole, 1e-12 * whole) << name;
      std::lock_guard<std::mutex> lock(mutex);
      sums[name].insert(*sum);
    }
    EXPECT_EQ(session.SumOfSquares("none").status().code(), absl::StatusCode::kNotFound);
  });
  for (const auto &[name, values] : sums)
    EXPECT_EQ(values.size(), 1u) << name;
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShardedVariablesTest, ::testing::Values(2, 3, 4, 6));

TEST(ShardedVariablesFaultsTest, ReadsFailOnAllRanksIfProgramsDiffer) {
  Ranks ranks(2, [](ProgramBuilder &program, int rank) { program.executable().program_hash = 10 + rank; });
  ranks.Run([&](Session &session, int) {
    ASSERT_TRUE(session.InitializeVariables(1).ok());
    absl::Status status = session.GetVariable("a").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), HasSubstr("rank 1 runs program"));
    EXPECT_TRUE(session.GetVariable("norm").ok());
  });
}

TEST(ShardedVariablesFaultsTest, ReadsNameTheVariableIfARankHasLeft) {
  Ranks ranks(2);
  ranks.Run([&](Session &session, int) {
    ASSERT_TRUE(session.InitializeVariables(1).ok());
    EXPECT_TRUE(session.GetVariable("m").ok());
  });
  ranks.Leave(1);
  absl::Status status = ranks[0].SaveVariables().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("sharded variable 'ab'"));
  EXPECT_THAT(Message(ranks[0].SumOfSquares("a").status()), HasSubstr("sharded variable 'a'"));
  EXPECT_TRUE(ranks[0].GetVariable("norm").ok());
}

} // namespace
} // namespace cs336::runtime::sharded_variables_test
