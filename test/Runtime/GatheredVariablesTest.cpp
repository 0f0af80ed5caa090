//===- GatheredVariablesTest.cpp - Parts among the parts of others --------===//
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
#include <numeric>
#include <thread>

namespace cs336::runtime::gathered_variables_test {
namespace {

using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;

/// Elements of a part: 256 bytes, the least that a gathered variable may have.
constexpr int64_t kPart = 64;

/// Buffers of the entries of MakeProgram(), by position.
enum : uint32_t { kOwnPart, kAllParts };

/// A program with a gathered variable "w", a copy of it, and the entries
/// "own", which returns the part that a rank stores, and "gather":
///
///     0 all_gather w -> all parts of w
///     1 copy all parts of w -> result
ProgramBuilder MakeProgram(int64_t ranks) {
  ProgramBuilder program;
  program.executable().world_size = ranks;
  format::VariableT &w = program.Variable("w", MakeType(DType::kF32, {ranks * kPart}));
  w.shards = ranks;
  w.gathered = true;
  program.Variable("other", MakeType(DType::kF32, {ranks * kPart})).shards = ranks;
  EntryBuilder gather = program.Entry("gather", format::Mode::train);
  uint32_t own = gather.OwnPart("w"), all = gather.AllParts("w");
  uint32_t result = gather.Output("result", MakeType(DType::kF32, {ranks * kPart}));
  gather.Collective(format::CollectiveKind::all_gather, own, all);
  gather.Copy(all, result);
  EntryBuilder part = program.Entry("own");
  part.Copy(part.OwnPart("w"), part.Output("part", MakeType(DType::kF32, {kPart})));
  return program;
}

/// Runs `function` with a session per rank, all at once.
void RunRanks(int count, const std::function<void(Session &session, int rank)> &function) {
  auto group = CreateInProcessGroup(count, absl::Seconds(30));
  std::vector<std::unique_ptr<Session>> sessions;
  for (int rank = 0; rank != count; ++rank) {
    SessionOptions options;
    options.num_threads = 1;
    options.communicator = std::move(group[rank]);
    sessions.push_back(testing::MakeSession(MakeProgram(count), options));
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank != count; ++rank)
    threads.emplace_back([&, rank] { function(*sessions[rank], rank); });
  for (std::thread &thread : threads)
    thread.join();
}

Tensor Counting(int64_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return MakeTensor(DType::kF32, {count}, values);
}

std::vector<float> Values(const TensorView &view) {
  absl::Span<const float> values = view.values<float>();
  return {values.begin(), values.end()};
}

class GatheredVariablesTest : public ::testing::TestWithParam<int> {};

TEST_P(GatheredVariablesTest, PartsSurroundTheOwnPart) {
  const int ranks = GetParam();
  RunRanks(ranks, [&](Session &session, int rank) {
    for (float first : {0.0f, 1000.0f}) {
      Tensor whole = Counting(ranks * kPart, first);
      ASSERT_TRUE(session.SetVariable("w", whole).ok());
      ASSERT_TRUE(session.SetVariable("other", whole).ok());
      ASSERT_TRUE(session.Run("gather", {}).ok());
      EXPECT_EQ(Values(*session.Output("gather", "result")), Values(whole));
      ASSERT_TRUE(session.Run("own", {}).ok());
      EXPECT_EQ(Values(*session.Output("own", "part")), Values(Counting(kPart, first + rank * kPart)));
    }
  });
}

TEST_P(GatheredVariablesTest, CheckpointsHoldTheWholeBeforeAndAfterAGather) {
  const int ranks = GetParam();
  RunRanks(ranks, [&](Session &session, int) {
    TensorMap values;
    values.emplace("w", Counting(ranks * kPart, 7));
    values.emplace("other", Counting(ranks * kPart, 8));
    ASSERT_TRUE(session.LoadVariables(values).ok());
    for (bool gathers : {false, true}) {
      if (gathers) {
        ASSERT_TRUE(session.Run("gather", {}).ok());
      }
      auto saved = session.SaveVariables();
      ASSERT_TRUE(saved.ok()) << saved.status();
      EXPECT_EQ(Values(saved->at("w")), Values(values.at("w")));
      EXPECT_EQ(Values(*session.GetVariable("w")), Values(values.at("w")));
    }
  });
}

TEST_P(GatheredVariablesTest, StorageIsThatOfTheWhole) {
  const int64_t ranks = GetParam();
  EXPECT_EQ(Summarize(**MakeProgram(ranks).Build(), "own")->parameter_bytes, (ranks * kPart + kPart) * 4);
}

INSTANTIATE_TEST_SUITE_P(Ranks, GatheredVariablesTest, ::testing::Values(2, 3, 4));

struct Defect {
  const char *name;
  void (*apply)(format::ExecutableT &executable);
  const char *message;
};

format::EntryT &Gather(format::ExecutableT &executable) { return *executable.entries[0]; }

class GatheredVariablesDefectTest : public ::testing::TestWithParam<Defect> {};

TEST_P(GatheredVariablesDefectTest, IsRefused) {
  ProgramBuilder program = MakeProgram(2);
  GetParam().apply(program.executable());
  absl::Status status = program.Build().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr(GetParam().message));
}

/// Appends a copy from one buffer of the entry "gather" to another.
void AddCopy(format::ExecutableT &executable, uint32_t src, uint32_t dst) {
  EntryBuilder(executable, Gather(executable)).Copy(src, dst);
}

const Defect kDefects[] = {
    {"GatheredWithoutShards",
     [](auto &e) {
       e.variables[0]->shards = 1;
       e.variables[0]->type->shape = {kPart};
     },
     "variable 'w': it is gathered, but has no shards"},
    {"SmallParts", [](auto &e) { e.variables[0]->type->shape = {2 * kPart - 32}; },
     "it is gathered, but its parts of 192 bytes are not multiples of 256"},
    {"AllPartsOfAnother", [](auto &e) { Gather(e).buffers[kAllParts]->index = 1; },
     "it holds all parts of variable 1, which is not gathered"},
    {"AllPartsOfNoVariable", [](auto &e) { Gather(e).buffers[kAllParts]->index = 2; }, "variable 2 of 2"},
    {"BytesBeyondAllParts", [](auto &e) { Gather(e).buffers[kAllParts]->byte_size += 4; }, "are not within the 512"},
    {"CopyOfAllPartsToThePart",
     [](auto &e) {
       EntryBuilder entry(e, Gather(e));
       AddCopy(e, entry.View(kAllParts, {kPart}, {1}, kPart * 4), kOwnPart);
     },
     "it writes 'w' f32[64] with strides [1] over bytes of 'w.view'"},
    {"CopyOfThePartToAllParts",
     [](auto &e) {
       EntryBuilder entry(e, Gather(e));
       AddCopy(e, kOwnPart, entry.View(kAllParts, {kPart}, {1}));
     },
     "it writes 'w.view' f32[64] with strides [1] over bytes of 'w'"},
    {"GatherOfHalfAPart",
     [](auto &e) {
       EntryBuilder entry(e, Gather(e));
       entry.Collective(format::CollectiveKind::all_gather, entry.View(kOwnPart, {kPart / 2}, {1}),
                        entry.View(kAllParts, {kPart}, {1}));
     },
     "it writes 'w.view' f32[64] with strides [1] over bytes of 'w.view'"},
    {"AllToAll",
     [](auto &e) {
       EntryBuilder entry(e, Gather(e));
       entry.Collective(format::CollectiveKind::all_to_all, kOwnPart, entry.View(kAllParts, {kPart}, {1}));
     },
     "it writes 'w.view' f32[64] with strides [1] over bytes of 'w'"},
    {"ReadWithoutAnEvent",
     [](auto &e) {
       Gather(e).streams = 2;
       Gather(e).commands[0]->stream = 1;
     },
     "it reads bytes of 'w' that command 0 'c0' writes on stream 1"},
    {"WriteOfThePartWithoutAnEvent",
     [](auto &e) {
       // Stream 1 overwrites the part while stream 0 reads all parts.
       EntryBuilder entry(e, Gather(e));
       entry.Copy(entry.Input("x", MakeType(DType::kF32, {kPart})), kOwnPart);
       Gather(e).streams = 2;
       Gather(e).commands[2]->stream = 1;
     },
     "it writes bytes of 'w' that command 0 'c0' writes on stream 0"},
};

INSTANTIATE_TEST_SUITE_P(Defects, GatheredVariablesDefectTest, ::testing::ValuesIn(kDefects),
                         [](const auto &test) { return test.param.name; });

} // namespace
} // namespace cs336::runtime::gathered_variables_test
