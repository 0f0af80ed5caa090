//===- CheckBoundTest.cpp - Integers checked during a run -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "SessionParts.h"
#include "cs336/runtime/Session.h"
#include "device/cuda/CheckBoundCommand.h"

#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace cs336::runtime {
namespace {

using ::testing::ElementsAre;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeSession;
using testing::MakeTensor;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;

std::unique_ptr<Session> MakeCheckingSession(DType dtype) {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t ids = entry.Input("ids", MakeType(dtype, {2, 2}));
  entry.CheckBound(ids, entry.Output("checked", MakeType(dtype, {2, 2})), 5);
  return MakeSession(program);
}

template <typename T>
void CheckOnTheHost(DType dtype) {
  auto session = MakeCheckingSession(dtype);
  Tensor good = MakeTensor<T>(dtype, {2, 2}, {0, 4, 2, 1});
  ASSERT_TRUE(session->Run("forward", {{"ids", good}}).ok());
  EXPECT_THAT(session->Output("forward", "checked")->values<T>(), ElementsAre(0, 4, 2, 1));

  Tensor bad = MakeTensor<T>(dtype, {2, 2}, {0, 4, std::numeric_limits<T>::min(), 5});
  absl::Status status = session->Run("forward", {{"ids", bad}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(Message(status),
              HasSubstr("entry 'forward': check_bound 'c0' of layers.0 at model.mlir:1: its source holds " +
                        std::to_string(std::numeric_limits<T>::min()) + " at [1, 0], outside of [0, 5)"));
  EXPECT_EQ(session->Output("forward", "checked").status().code(), absl::StatusCode::kFailedPrecondition);
  // The next run is not affected.
  Tensor other = MakeTensor<T>(dtype, {2, 2}, {3, 1, 0, 4});
  ASSERT_TRUE(session->Run("forward", {{"ids", other}}).ok());
  EXPECT_THAT(session->Output("forward", "checked")->values<T>(), ElementsAre(3, 1, 0, 4));
}

TEST(CheckBoundTest, FailsOnTheHostBeforeTheNextCommand) {
  CheckOnTheHost<int64_t>(DType::kI64);
  CheckOnTheHost<int32_t>(DType::kI32);
}

/// Tests more integers than a block has threads, with bad ones at the end and
/// one before them.
template <typename T>
void CheckOnAGpu(const CudaContext &cuda, DType dtype) {
  constexpr int64_t kCount = 5000, kFirst = 4093, kBound = 1000;
  std::vector<T> integers(kCount), checked(kCount), expected;
  for (int64_t i = 0; i != kCount; ++i)
    integers[i] = i % kBound;
  auto memory = CudaMemory::Create(cuda);
  ASSERT_TRUE(memory.ok()) << memory.status();
  int64_t bytes = kCount * sizeof(T);
  auto block = (*memory)->Allocate(2 * bytes, 256);
  ASSERT_TRUE(block.ok()) << block.status();
  const MutableTensorView buffers[] = {{{dtype, {5, kCount / 5}}, block->data()},
                                       {{dtype, {5, kCount / 5}}, block->data() + bytes}};
  format::CommandT described;
  described.name = "rows";
  format::CheckBoundT check;
  check.dst = 1;
  check.bound = kBound;
  described.body.Set(check);
  auto command = PrepareCudaCheckBound(cuda, **memory, {described, buffers}, check);
  ASSERT_TRUE(command.ok()) << command.status();

  auto run = [&] {
    ASSERT_TRUE((*memory)->CopyFromHost(buffers[0].mutable_data(), integers.data(), bytes).ok());
    ASSERT_TRUE((*command)->Execute().ok());
    ASSERT_TRUE((*memory)->CopyToHost(checked.data(), buffers[1].data(), bytes).ok());
  };
  run();
  EXPECT_EQ(checked, integers);
  EXPECT_TRUE((*command)->Outcome().ok()) << (*command)->Outcome();

  expected = integers;
  for (int64_t i : {kFirst, kCount - 2, kCount - 1}) {
    integers[i] = i == kFirst ? std::numeric_limits<T>::min() : T(kBound);
    expected[i] = 0;
  }
  run();
  EXPECT_EQ(checked, expected);
  std::string first = "check_bound 'rows': its source holds " + std::to_string(std::numeric_limits<T>::min()) +
                      " at [4, 93], outside of [0, 1000)";
  EXPECT_EQ((*command)->Outcome().message(), first);
  // The first run that failed is reported.
  integers[0] = -1;
  run();
  EXPECT_EQ((*command)->Outcome().message(), first);
}

TEST(CheckBoundTest, OnAGpuReadsZeroAndTellsTheHost) {
  auto cuda = CudaContext::Create(0);
  if (!cuda.ok())
    GTEST_SKIP() << cuda.status();
  CheckOnAGpu<int64_t>(**cuda, DType::kI64);
  CheckOnAGpu<int32_t>(**cuda, DType::kI32);
}

} // namespace
} // namespace cs336::runtime
