//===- CudaVariablesTest.cpp - Variables of sessions on a GPU -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaSessionFixture.h"
#include "cs336/runtime/PlanSummary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::cuda_variables_test {
namespace {

using testing::AddKernel;
using testing::AddObject;
using testing::CudaSampleProgram;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MakeType;
using testing::OtherLibrary;
using testing::ProgramBuilder;

using CudaVariablesTest = testing::CudaSessionFixture;

TEST_F(CudaVariablesTest, InitializesAsTheCpuDoes) {
  auto session = *Create(CudaSampleProgram());
  ProgramBuilder program = CudaSampleProgram();
  program.executable().target = format::Target::cpu;
  program.executable().entries.clear();
  program.executable().kernels.clear();
  program.executable().objects.clear();
  program.Entry("forward");
  auto host = *Session::Create(*program.Build());
  ASSERT_TRUE(session->InitializeVariables(11).ok());
  ASSERT_TRUE(host->InitializeVariables(11).ok());
  for (const char *name : {"q.weight", "k.weight", "qkv.weight", "norm.weight"})
    EXPECT_EQ(session->GetVariable(name)->values<float>(), host->GetVariable(name)->values<float>()) << name;

  TensorMap saved = *session->SaveVariables();
  saved.find("norm.weight")->second.mutable_values<float>()[2] = 5;
  ASSERT_TRUE(session->LoadVariables(saved).ok());
  EXPECT_THAT(session->GetVariable("norm.shadow")->values<float>(), ElementsAre(1, 1, 5, 1));
}

TEST_F(CudaVariablesTest, WritesVariablesInChunks) {
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  constexpr int64_t kElements = (int64_t{9} << 20) + 3; // More than one staging buffer of 32 MiB.
  format::VariableT &w = program.Variable("w", MakeType(DType::kF32, {kElements}));
  w.init->kind = format::InitKind::truncated_normal;
  w.init->std = 1;
  w.init->cut = 3;
  EntryBuilder forward = program.Entry("forward"); // This use keeps the variable in device memory.
  forward.Copy(forward.View(forward.Variable("w"), {4}, {1}), forward.Output("y", MakeType(DType::kF32, {4})));
  auto session = *Create(program);
  ASSERT_TRUE(session->InitializeVariables(5).ok());
  program.executable().target = format::Target::cpu;
  auto host = *Session::Create(*program.Build());
  ASSERT_TRUE(host->InitializeVariables(5).ok());
  Tensor on_host = *host->GetVariable("w");
  EXPECT_EQ(session->GetVariable("w")->values<float>(), on_host.values<float>());
  on_host.mutable_values<float>()[kElements - 1] = 77;
  ASSERT_TRUE(session->SetVariable("w", on_host).ok());
  EXPECT_EQ(session->GetVariable("w")->values<float>(), on_host.values<float>());
}

TEST_F(CudaVariablesTest, SetsVariablesFromTheDevice) {
  auto session = *Create(CudaSampleProgram()), other = *Create(OtherLibrary());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  TensorView norm = *other->VariableOnDevice("norm");
  Tensor values = MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4});
  fake.default_stream_work = [&] { ASSERT_TRUE(other->SetVariable("norm", values).ok()); };
  // The first stays in host memory, because only "prepare" reads it; the second
  // does not.
  for (const char *name : {"norm.weight", "norm.shadow"}) {
    ASSERT_TRUE(session->SetVariable(name, norm, Placement::kDevice).ok());
    EXPECT_THAT(session->GetVariable(name)->values<float>(), ElementsAre(1, 2, 3, 4)) << name;
  }
  absl::Status status = session->SetVariable("norm.weight", TensorView(norm.type(), {2}, norm.data()), //
                                             Placement::kDevice);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("variable 'norm.weight': the f32[4] in the device's memory is not dense"));
  EXPECT_EQ(session->SetVariable("step", norm, Placement::kDevice).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaVariablesTest, LeavesACounterAsItWasWhereTheDevicesValueIsNegative) {
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  program.Entry("forward");
  program.Variable("number", MakeType(DType::kI64, {}));
  auto session = *Create(CudaSampleProgram()), other = *Create(program);
  TensorView number = *other->VariableOnDevice("number");
  for (int64_t step : {int64_t{7}, int64_t{-5}}) {
    Tensor value = MakeTensor<int64_t>(DType::kI64, {}, {step});
    fake.default_stream_work = [&] { ASSERT_TRUE(other->SetVariable("number", value).ok()); };
    absl::Status status = session->SetVariable("step", number, Placement::kDevice);
    EXPECT_EQ(status.ok(), step >= 0) << status;
    EXPECT_EQ(session->GetVariable("step")->values<int64_t>()[0], 7);
  }
}

TEST_F(CudaVariablesTest, LeavesInHostMemoryWhatPrepareAloneReads) {
  std::shared_ptr<const Executable> executable = *CudaSampleProgram().Build();
  std::vector<std::string> on_host;
  for (size_t i = 0; i != executable->variables().size(); ++i)
    if (executable->StaysOnHost(i))
      on_host.push_back(executable->variables()[i]->name);
  EXPECT_THAT(on_host, ElementsAre("qkv.weight", "norm.weight"));
  PlanSummary plan = *Summarize(*executable, "train");
  EXPECT_EQ(plan.host_bytes, 4 * (6 * 5 + 4));
  EXPECT_EQ(plan.parameter_bytes, 0);

  auto session = Create(CudaSampleProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->InitializeVariables(7).ok());
  // The host cannot read the fake device's addresses.
  EXPECT_THAT((*session)->VariableOnDevice("norm.weight")->values<float>(), ElementsAre(1, 1, 1, 1));
  Tensor norm = MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4});
  ASSERT_TRUE((*session)->SetVariable("norm.weight", norm).ok());
  EXPECT_THAT((*session)->VariableOnDevice("norm.weight")->values<float>(), ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE((*session)->Prepare().ok());
  EXPECT_THAT((*session)->GetVariable("norm.shadow")->values<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT((*session)->GetVariable("norm.weight")->values<float>(), ElementsAre(1, 2, 3, 4));
}

/// Builds y = scaled, with variables that only the kernel of "prepare" reads.
ProgramBuilder ScaledOnceProgram() {
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  AddObject(program, "sm_90a");
  program.Variable("rows", MakeType(DType::kF32, {3, 4})).init->kind = format::InitKind::ones;
  program.Variable("norm", MakeType(DType::kF32, {4})).init->kind = format::InitKind::ones;
  program.Variable("scaled", MakeType(DType::kF32, {3, 4}), format::VariableKind::derived);
  uint32_t scale = AddKernel(program, "scale_rows");
  EntryBuilder prepare = program.Entry("prepare", format::Mode::prepare);
  prepare.Launch(scale, {prepare.Variable("rows"), prepare.Variable("norm"), prepare.Variable("scaled")}, {2}, 1);
  EntryBuilder forward = program.Entry("forward");
  forward.Copy(forward.Variable("scaled"), forward.Output("y", MakeType(DType::kF32, {3, 4})));
  return program;
}

TEST_F(CudaVariablesTest, PinsWhatKernelsOfPrepareReadOnceItIsWritten) {
  auto session = Create(ScaledOnceProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  size_t pinned = fake.pinned.size();
  EXPECT_THAT((*session)->GetVariable("norm")->values<float>(), ElementsAre(0, 0, 0, 0));
  TensorMap given;
  given.emplace("norm", MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4}));
  ASSERT_TRUE((*session)->InitializeVariables(0, given).ok());
  EXPECT_EQ(fake.pinned.size(), pinned + 1);
  EXPECT_THAT((*session)->GetVariable("scaled")->values<float>(), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4));
  Tensor twice = MakeTensor<float>(DType::kF32, {4}, {2, 4, 6, 8});
  ASSERT_TRUE((*session)->SetVariable("norm", twice).ok());
  ASSERT_TRUE((*session)->Run("forward", {}).ok());
  EXPECT_THAT((*session)->Output("forward", "y")->values<float>(), ElementsAre(2, 4, 6, 8, 2, 4, 6, 8, 2, 4, 6, 8));
  EXPECT_EQ(fake.pinned.size(), pinned + 1);
  ASSERT_TRUE((*session)->Synchronize().ok());
}

TEST_F(CudaVariablesTest, LosesNoVariableWhereItCannotPinThem) {
  auto session = Create(ScaledOnceProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  fake.refuses_pinning = true;
  absl::Status status = (*session)->InitializeVariables(0);
  EXPECT_THAT(Message(status), HasSubstr("parameters that stay in host memory: cannot pin 512 bytes of host memory"));
  EXPECT_THAT(Message((*session)->VariableOnDevice("norm").status()), HasSubstr("cannot pin"));
  EXPECT_THAT(Message((*session)->Run("forward", {})), HasSubstr("cannot pin"));
  EXPECT_THAT((*session)->GetVariable("norm")->values<float>(), ElementsAre(1, 1, 1, 1));
  fake.refuses_pinning = false;
  ASSERT_TRUE((*session)->Run("forward", {}).ok());
  EXPECT_THAT((*session)->Output("forward", "y")->values<float>(), Each(1));
}

} // namespace
} // namespace cs336::runtime::cuda_variables_test
