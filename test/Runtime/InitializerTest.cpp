//===- InitializerTest.cpp - Initial values, their statistics and seeds ---===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "initializer/Initializer.h"
#include "ProgramBuilder.h"
#include "cs336/runtime/Session.h"
#include "initializer/Philox.h"

#include <bit>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace cs336::runtime {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::MakeType;
using testing::ProgramBuilder;

void SetNormal(format::VariableT &variable, double std, double cut) {
  variable.init->kind = format::InitKind::truncated_normal;
  variable.init->std = std;
  variable.init->cut = cut;
}

std::unique_ptr<Session> MakeSession(const ProgramBuilder &program, uint64_t seed, int threads = 0) {
  SessionOptions options;
  options.num_threads = threads;
  auto session = *Session::Create(*program.Build(), options);
  EXPECT_TRUE(session->InitializeVariables(seed).ok());
  return session;
}

std::vector<float> Values(const Session &session, absl::string_view name) {
  Tensor tensor = *session.GetVariable(name);
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

/// Builds a program with one variable [1000, 300] of a truncated normal.
ProgramBuilder OneVariable(const std::string &name, double std, double cut) {
  ProgramBuilder program;
  SetNormal(program.Variable(name, MakeType(DType::kF32, {1000, 300})), std, cut);
  program.Entry("forward");
  return program;
}

TEST(PhiloxTest, MatchesTheKnownAnswers) {
  // From kat_vectors of Random123, the authors' own implementation.
  EXPECT_THAT(Philox({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(InitializerTest, ConstantsOfEveryType) {
  ProgramBuilder program;
  auto add = [&](const char *name, DType dtype, format::InitKind kind, double value) {
    format::VariableT &variable = program.Variable(name, MakeType(dtype, {3}));
    variable.init->kind = kind;
    variable.init->value = value;
  };
  add("zeros", DType::kF64, format::InitKind::zeros, 5);
  add("ones", DType::kF32, format::InitKind::ones, 5);
  add("f64", DType::kF64, format::InitKind::constant, 0.1);
  add("bf16", DType::kBF16, format::InitKind::constant, 1.5);
  add("i64", DType::kI64, format::InitKind::constant, -7);
  add("i1", DType::kI1, format::InitKind::ones, 0);
  program.Entry("forward");
  auto session = MakeSession(program, 0);
  EXPECT_THAT(session->GetVariable("zeros")->values<double>(), Each(0));
  EXPECT_THAT(session->GetVariable("ones")->values<float>(), Each(1));
  EXPECT_THAT(session->GetVariable("f64")->values<double>(), Each(0.1));
  EXPECT_THAT(session->GetVariable("bf16")->values<uint16_t>(), Each(0x3fc0));
  EXPECT_THAT(session->GetVariable("i64")->values<int64_t>(), Each(-7));
  EXPECT_THAT(session->GetVariable("i1")->values<uint8_t>(), Each(1));
}

TEST(InitializerTest, TruncatedNormalHasItsMoments) {
  for (double cut : {1.0, 3.0}) {
    double std = 0.25;
    std::vector<float> values = Values(*MakeSession(OneVariable("w", std, cut), 1), "w");
    double sum = 0, squares = 0, most = 0, inside = 0;
    for (double value : values) {
      sum += value;
      squares += value * value;
      most = std::max(most, std::abs(value));
      inside += std::abs(value) < std / 2;
    }
    double count = static_cast<double>(values.size());
    // The variance of a normal distribution cut at +-c is 1 - 2 c pdf(c) /
    // (cdf(c) - cdf(-c)).
    double pdf = std::exp(-cut * cut / 2) / std::sqrt(2 * M_PI);
    double mass = std::erf(cut / std::sqrt(2));
    double deviation = std * std::sqrt(1 - 2 * cut * pdf / mass);
    double error = deviation / std::sqrt(count);
    EXPECT_NEAR(sum / count, 0, 4 * error);
    EXPECT_NEAR(std::sqrt(squares / count), deviation, 4 * error);
    EXPECT_NEAR(inside / count, std::erf(0.5 / std::sqrt(2)) / mass, 0.005);
    EXPECT_LE(most, cut * std);
    EXPECT_GT(most, cut * std * 0.99);
  }
}

TEST(InitializerTest, EveryElementDiffers) {
  std::vector<float> values = Values(*MakeSession(OneVariable("w", 1, 3), 1), "w");
  std::map<float, int> counts;
  for (float value : values)
    ++counts[value];
  // Some of 300,000 floats are equal; a repeating stream would have many equal
  // ones.
  EXPECT_GT(counts.size(), values.size() * 95 / 100);
}

TEST(InitializerTest, EveryWidthOfVectorsDrawsTheSame) {
  // The value is equal on every processor and in builds with sanitizers, which run the plain loops.
  uint64_t hash = 0;
  for (float value : Values(*MakeSession(OneVariable("w", 1, 3), 1), "w"))
    hash = hash * 0x100000001b3 + std::bit_cast<uint32_t>(value);
  EXPECT_EQ(hash, 12562890029569457562u);
}

TEST(InitializerTest, SeedAndNameDecide) {
  auto values = [](const char *name, uint64_t seed) {
    return Values(*MakeSession(OneVariable(name, 1, 3), seed), name);
  };
  EXPECT_EQ(values("w", 1), values("w", 1));
  EXPECT_NE(values("w", 1), values("w", 2));
  EXPECT_NE(values("w", 1), values("w", uint64_t{1} << 32 | 1));
  EXPECT_NE(values("w", 1), values("v", 1));
}

TEST(InitializerTest, PartsHaveTheValuesOfTheWhole) {
  format::InitT init;
  init.kind = format::InitKind::truncated_normal;
  init.std = 1;
  init.cut = 3;
  constexpr int64_t kCount = 3000;
  std::vector<float> whole(kCount);
  Initialize(init, 1, "w", {{DType::kF32, {kCount}}, whole.data()});
  for (int64_t first : {0, 1, 2, 511, 512, 513, 2999})
    for (int64_t count : {1, 2, 511, 512, 513, 1025}) {
      if (first + count > kCount)
        continue;
      std::vector<float> part(count);
      Initialize(init, 1, "w", {{DType::kF32, {count}}, part.data()}, first);
      EXPECT_EQ(part, std::vector<float>(whole.begin() + first, whole.begin() + first + count))
          << first << " " << count;
    }
}

TEST(InitializerTest, ThreadsDoNotMatter) {
  ProgramBuilder program = OneVariable("w", 1, 3);
  EXPECT_EQ(Values(*MakeSession(program, 1, 1), "w"), Values(*MakeSession(program, 1, 5), "w"));
}

TEST(InitializerTest, PackingDoesNotMatter) {
  ProgramBuilder packed, separate;
  format::VariableT &qkv = packed.Variable("qkv", MakeType(DType::kF32, {9, 7}));
  SetNormal(qkv, 1, 3);
  ProgramBuilder::AddViews(qkv, {{"q", 4}, {"k", 3}, {"v", 2}});
  packed.Entry("forward");
  for (auto [name, rows] : std::map<std::string, int64_t>{{"v", 2}, {"q", 4}, {"k", 3}})
    SetNormal(separate.Variable(name, MakeType(DType::kF32, {rows, 7})), 1, 3);
  separate.Entry("forward");
  auto a = MakeSession(packed, 42), b = MakeSession(separate, 42);
  for (const char *name : {"q", "k", "v"})
    EXPECT_EQ(Values(*a, name), Values(*b, name)) << name;
}

TEST(InitializerTest, GivenValuesComeInPlaceOfDrawnOnes) {
  ProgramBuilder program;
  format::VariableT &qk = program.Variable("qk", MakeType(DType::kF32, {3, 2}));
  SetNormal(qk, 1, 3);
  ProgramBuilder::AddViews(qk, {{"q", 1}, {"k", 2}});
  program.Entry("forward");
  auto session = MakeSession(program, 1);
  std::vector<float> drawn = Values(*session, "q");
  TensorMap given;
  given.emplace("k", testing::MakeTensor<float>(DType::kF32, {2, 2}, {1, 2, 3, 4}));
  ASSERT_TRUE(session->InitializeVariables(1, given).ok());
  EXPECT_EQ(Values(*session, "q"), drawn);
  EXPECT_THAT(Values(*session, "k"), ElementsAre(1, 2, 3, 4));

  given.emplace("q", testing::MakeTensor<float>(DType::kF32, {2}, {1, 2}));
  absl::Status status = session->InitializeVariables(1, given);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("q is a f32[2], not f32[1, 2]"));
}

} // namespace
} // namespace cs336::runtime
