//===- UnsetVariablesTest.cpp - Runs need values of all variables ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "SessionParts.h"
#include "cs336/runtime/Session.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace cs336::runtime::unset_variables_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeSession;
using testing::MakeTensor;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;
using testing::SampleInputs;
using testing::SampleProgram;

/// Returns the sample program, in which parameters have no initial values.
ProgramBuilder UninitializedProgram() {
  ProgramBuilder program = SampleProgram();
  for (auto &variable : program.executable().variables)
    if (variable->kind == format::VariableKind::parameter) {
      variable->init = std::make_unique<format::InitT>();
      variable->init->kind = format::InitKind::none;
    }
  return program;
}

absl::Status RunOnce(Session &session) { return session.Run("train", SampleInputs().named()); }

TensorMap SampleParameters() {
  TensorMap tensors;
  for (const char *name : {"q.weight", "k.weight", "v.weight"})
    tensors.emplace(name, MakeTensor<float>(DType::kF32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}));
  tensors.emplace("norm.weight", MakeTensor<float>(DType::kF32, {4}, {1, 1, 1, 1}));
  return tensors;
}

LoadOptions ParametersOnly() {
  LoadOptions options;
  options.set = VariableSet::kParameters;
  return options;
}

TEST(UnsetVariablesTest, ARunNamesThem) {
  auto session = MakeSession(SampleProgram());
  absl::Status status = RunOnce(*session);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(status), "variables without a value (4): q.weight, k.weight, v.weight, norm.weight: initialize the "
                             "session, load a checkpoint or set them first");
  EXPECT_THAT(Message(session->Prepare()), HasSubstr("(3): q.weight, k.weight, v.weight: "));
  EXPECT_EQ(session->SaveVariables().status(), status);
  EXPECT_TRUE(session->InitializeVariables(1).ok());
  EXPECT_TRUE(RunOnce(*session).ok());
}

TEST(UnsetVariablesTest, SettingEachIsEnough) {
  auto session = MakeSession(SampleProgram());
  TensorMap parameters = SampleParameters();
  for (const char *name : {"norm.weight", "q.weight", "k.weight"})
    ASSERT_TRUE(session->SetVariable(name, parameters.at(name)).ok());
  EXPECT_THAT(Message(RunOnce(*session)), HasSubstr("variables without a value (1): v.weight: "));
  ASSERT_TRUE(session->SetVariable("v.weight", parameters.at("v.weight")).ok());
  EXPECT_TRUE(RunOnce(*session).ok());
}

TEST(UnsetVariablesTest, APackedVariableSetsItsViews) {
  auto session = MakeSession(SampleProgram());
  Tensor packed = *Tensor::Create({DType::kF32, {6, 4}});
  ASSERT_TRUE(session->SetVariable("qkv.weight", packed).ok());
  EXPECT_THAT(Message(RunOnce(*session)), HasSubstr("variables without a value (1): norm.weight: "));
}

TEST(UnsetVariablesTest, AnEntryNeedsOnlyItsOwn) {
  ProgramBuilder program = SampleProgram();
  program.Variable("other", MakeType(DType::kF32, {4}));
  auto session = MakeSession(program);
  for (const auto &[name, value] : SampleParameters())
    ASSERT_TRUE(session->SetVariable(name, value).ok());
  EXPECT_TRUE(RunOnce(*session).ok());
  EXPECT_THAT(Message(session->SaveVariables().status()), HasSubstr("variables without a value (1): other: "));
}

TEST(UnsetVariablesTest, AFailedSetDoesNotCount) {
  auto session = MakeSession(SampleProgram());
  ASSERT_FALSE(session->SetVariable("norm.weight", MakeTensor<float>(DType::kF32, {2}, {1, 2})).ok());
  EXPECT_THAT(Message(RunOnce(*session)), HasSubstr("norm.weight"));
}

TEST(UnsetVariablesTest, InitializingLeavesThoseWithoutInitialValues) {
  auto session = MakeSession(UninitializedProgram());
  ASSERT_TRUE(session->InitializeVariables(1).ok());
  EXPECT_EQ(
      Message(RunOnce(*session)),
      "variables without a value (4): q.weight, k.weight, v.weight, norm.weight: the program has no initial values "
      "(cs336.init) for them; load a checkpoint or set them first");
  ASSERT_TRUE(session->InitializeVariables(1, SampleParameters()).ok());
  EXPECT_TRUE(RunOnce(*session).ok());
}

TEST(UnsetVariablesTest, LoadingParametersIsEnough) {
  auto session = MakeSession(UninitializedProgram());
  ASSERT_TRUE(session->LoadVariables(SampleParameters(), ParametersOnly()).ok());
  EXPECT_TRUE(RunOnce(*session).ok());
}

TEST(UnsetVariablesTest, SharedMemoryCountsOnceItIsPrepared) {
  auto session = MakeSession(UninitializedProgram());
  for (const char *name : {"norm.weight", "q.weight", "k.weight", "v.weight"})
    ASSERT_TRUE(session->VariableOnDevice(name).ok());
  EXPECT_FALSE(RunOnce(*session).ok());
  ASSERT_TRUE(session->Prepare().ok());
  EXPECT_TRUE(RunOnce(*session).ok());
}

TEST(UnsetVariablesTest, StateBeginsWithItsConstant) {
  ProgramBuilder program = SampleProgram();
  format::VariableT &scale = program.Variable("loss_scale", MakeType(DType::kF32, {}), format::VariableKind::state);
  scale.init->kind = format::InitKind::constant;
  scale.init->value = 65536;
  auto session = MakeSession(program);
  EXPECT_THAT(session->GetVariable("loss_scale")->values<float>(), ElementsAre(65536));
  ASSERT_TRUE(session->LoadVariables(SampleParameters(), ParametersOnly()).ok());
  EXPECT_TRUE(RunOnce(*session).ok());
  EXPECT_THAT(session->GetVariable("loss_scale")->values<float>(), ElementsAre(65536));
}

TEST(UnsetVariablesTest, OnlyParametersCanHaveNoInitialValue) {
  ProgramBuilder program = SampleProgram();
  for (auto &variable : program.executable().variables)
    if (variable->kind == format::VariableKind::state)
      variable->init->kind = format::InitKind::none;
  EXPECT_THAT(Message(program.Build().status()), HasSubstr("only parameters can have no initial value"));
}

TEST(UnsetVariablesTest, LoadsBF16AndF16IntoF32Exactly) {
  auto session = MakeSession(SampleProgram());
  TensorMap tensors = SampleParameters();
  // 1, the least subnormal number, -infinity and -0.
  Tensor half = *Tensor::Create({DType::kF16, {4}}), brain = *Tensor::Create({DType::kBF16, {4}});
  const uint16_t half_bits[] = {0x3C00, 0x0001, 0xFC00, 0x8000}, brain_bits[] = {0x3F80, 0x0001, 0xFF80, 0x8000};
  std::memcpy(half.mutable_data(), half_bits, sizeof(half_bits));
  std::memcpy(brain.mutable_data(), brain_bits, sizeof(brain_bits));
  tensors.insert_or_assign("norm.weight", std::move(half));
  ASSERT_TRUE(session->LoadVariables(tensors, ParametersOnly()).ok());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(session->GetVariable("norm.weight")->values<float>(), ElementsAre(1, 0x1p-24f, -kInfinity, -0.0f));
  tensors.insert_or_assign("norm.weight", std::move(brain));
  ASSERT_TRUE(session->LoadVariables(tensors, ParametersOnly()).ok());
  EXPECT_THAT(session->GetVariable("norm.weight")->values<float>(), ElementsAre(1, 0x1p-133f, -kInfinity, -0.0f));
  tensors.insert_or_assign("norm.weight", MakeTensor<double>(DType::kF64, {4}, {1, 1, 1, 1}));
  EXPECT_THAT(Message(session->LoadVariables(tensors, ParametersOnly())),
              HasSubstr("of another type (1): norm.weight is a f64[4], not f32[4]"));
}

} // namespace
} // namespace cs336::runtime::unset_variables_test
