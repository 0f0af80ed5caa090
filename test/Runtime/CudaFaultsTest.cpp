//===- CudaFaultsTest.cpp - Failing calls of the CUDA driver --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each driver call of a session, from its creation to its end, fails once. The
// session's function then returns an error that names the driver's function,
// leaks nothing, and succeeds when it is called again.
//
//===----------------------------------------------------------------------===//

#include "CudaSessionFixture.h"
#include "cs336/runtime/CudaInfo.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::cuda_faults_test {
namespace {

using testing::CudaSampleProgram;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MakeType;
using testing::OtherLibrary;
using testing::ProgramBuilder;

ProgramBuilder ProgramWithChecks() {
  ProgramBuilder program = CudaSampleProgram();
  EntryBuilder check = program.Entry("check");
  uint32_t source = check.Input("i", MakeType(DType::kI64, {4}));
  check.CheckBound(source, check.Output("o", MakeType(DType::kI64, {4})), 5);
  return program;
}

class CudaFaultsTest : public testing::CudaSessionFixture {
protected:
  /// Makes the first driver call of `call` fail, then the second, and so on until none fails any more. Returns
  /// the number of driver calls.
  int FailEach(absl::string_view name, absl::FunctionRef<absl::Status()> call) {
    for (int number = 1;; ++number) {
      fake.calls = 0;
      fake.failed.clear();
      fake.error = number % 2 ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_OUT_OF_MEMORY;
      fake.failing_call = number;
      absl::Status status = call();
      fake.failing_call = 0;
      if (fake.failed.empty()) {
        EXPECT_TRUE(status.ok()) << name << ": " << status;
        return number - 1;
      }
      if (status.ok())
        ExpectRelease(name);
      else
        EXPECT_THAT(Message(status), HasSubstr(fake.failed)) << name;
    }
  }

  /// Errors of releasing are lost: released objects have no other owner, and nothing can be done about
  /// them.
  void ExpectRelease(absl::string_view name) {
    for (absl::string_view word : {"Destroy", "Free", "Release", "Unregister", "Unload", "Pop"})
      if (absl::StrContains(fake.failed, word))
        return;
    // An event and a stream of this call, whose release makes their context current.
    bool has_objects = name == "SetVariable from the device" || name == "QueryCudaMemory";
    EXPECT_TRUE(has_objects && fake.failed == "cuCtxPushCurrent") << name << ": no error of " << fake.failed;
  }
};

TEST_F(CudaFaultsTest, CreationLeavesNothing) {
  int calls = FailEach("Create", [&] {
    absl::StatusOr<std::unique_ptr<Session>> session = Create(ProgramWithChecks());
    fake.failing_call = 0;
    absl::Status status = session.status();
    session = absl::UnknownError("destroyed");
    CudaSessionFixture::TearDown();
    return status;
  });
  EXPECT_GT(calls, 200);
  FailEach("QueryCuda", [] { return QueryCuda().status(); });
  FailEach("QueryCudaMemory", [] { return QueryCudaMemory(0).status(); });
}

TEST_F(CudaFaultsTest, EveryCallOfASessionCanBeMadeAgain) {
  auto session = *Create(ProgramWithChecks()), other = *Create(OtherLibrary());
  Tensor x = MakeTensor<float>(DType::kF32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor norm = MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4});
  Tensor tokens = MakeTensor<int32_t>(DType::kI32, {2, 3}, {0, 1, 2, 3, 4, 15});
  Tensor integers = MakeTensor<int64_t>(DType::kI64, {4}, {0, 1, 2, 3});
  int calls = FailEach("InitializeVariables", [&] { return session->InitializeVariables(7); });
  ASSERT_TRUE(other->SetVariable("x", x).ok());
  ASSERT_TRUE(other->SetVariable("norm", norm).ok());
  TensorView device_x = *other->VariableOnDevice("x"), device_norm = *other->VariableOnDevice("norm");

  calls += FailEach("SetVariable", [&] { return session->SetVariable("norm.shadow", norm); });
  for (const char *name : {"norm.weight", "norm.shadow"})
    calls += FailEach("SetVariable from the device",
                      [&] { return session->SetVariable(name, device_norm, Placement::kDevice); });
  calls += FailEach("Prepare", [&] { return session->Prepare(); });
  calls += FailEach("Run with a check", [&] { return session->Run("check", {{"i", integers}}); });
  calls += FailEach("Output", [&] { return session->Output("check", "o").status(); });
  calls += FailEach("Run with inputs of the device",
                    [&] { return session->Run("train", {{"x", device_x, Placement::kDevice}, {"tokens", tokens}}); });
  calls += FailEach("Run", [&] { return session->Run("train", {{"x", x}, {"tokens", tokens}}); });
  calls += FailEach("PreviousOutput", [&] { return session->PreviousOutput("train", "y").status(); });
  calls += FailEach("Output", [&] { return session->Output("train", "large").status(); });
  calls += FailEach("LastRunDuration", [&] { return session->LastRunDuration("train").status(); });
  calls += FailEach("Memory", [&] { return session->Memory().status(); });
  calls += FailEach("GetVariable", [&] { return session->GetVariable("qkv.weight").status(); });
  TensorMap saved;
  calls += FailEach("SaveVariables", [&] {
    absl::StatusOr<TensorMap> values = session->SaveVariables();
    saved = values.ok() ? *std::move(values) : TensorMap();
    return values.status();
  });
  calls += FailEach("LoadVariables", [&] { return session->LoadVariables(saved); });
  calls += FailEach("Synchronize", [&] { return session->Synchronize(); });
  EXPECT_GT(calls, 100);

  ASSERT_TRUE(session->Run("train", {{"x", x}, {"tokens", tokens}}).ok());
  EXPECT_EQ(session->Output("train", "y")->values<float>()[11], 44);
}

TEST_F(CudaFaultsTest, TheEndOfASessionReleasesAll) {
  for (int number = 1; fake.failing_call == 0 || !fake.failed.empty(); ++number) {
    auto session = Create(ProgramWithChecks());
    ASSERT_TRUE(session.ok()) << session.status();
    fake.calls = 0;
    fake.failed.clear();
    fake.failing_call = number;
    session->reset();
    SCOPED_TRACE(absl::StrCat("call ", number, ", ", fake.failed));
    CudaSessionFixture::TearDown();
  }
}

/// Tests a value that needs both staging buffers, of which a first attempt may have
/// allocated one.
TEST_F(CudaFaultsTest, InitializesAfterAnAttemptThatFailed) {
  constexpr int64_t kElements = (int64_t{9} << 20) + 3;
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  program.Variable("w", MakeType(DType::kF32, {kElements})).init->kind = format::InitKind::ones;
  EntryBuilder forward = program.Entry("forward"); // This use keeps the variable in device memory.
  forward.Copy(forward.View(forward.Variable("w"), {4}, {1}), forward.Output("y", MakeType(DType::kF32, {4})));
  for (int number = 1;; ++number) {
    auto session = *Create(program);
    fake.calls = 0;
    fake.failed.clear();
    fake.failing_call = number;
    absl::Status status = session->InitializeVariables(0);
    fake.failing_call = 0;
    if (fake.failed.empty())
      break;
    EXPECT_FALSE(status.ok() && !absl::StrContains(fake.failed, "Pop")) << fake.failed;
    ASSERT_TRUE(session->InitializeVariables(0).ok()) << fake.failed;
    EXPECT_EQ(session->GetVariable("w")->values<float>()[kElements - 1], 1) << fake.failed;
  }
}

} // namespace
} // namespace cs336::runtime::cuda_faults_test
