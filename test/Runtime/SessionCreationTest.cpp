//===- SessionCreationTest.cpp - Programs that sessions reject ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Session.h"

#include "ProgramBuilder.h"
#include "SessionParts.h"

#include "absl/strings/str_cat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime {
namespace {

using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;
using testing::SampleProgram;

absl::Status CreateStatus(const ProgramBuilder &program, const SessionOptions &options = {}) {
  auto executable = program.Build();
  EXPECT_TRUE(executable.ok()) << executable.status();
  return Session::Create(*executable, options).status();
}

TEST(SessionCreationTest, MemoryLimitIsAnAnswer) {
  auto session = Session::Create(*SampleProgram().Build());
  ASSERT_TRUE(session.ok()) << session.status();
  int64_t needed = (*session)->allocated_bytes();
  EXPECT_GT(needed, 0);
  SessionOptions options;
  options.memory_limit_bytes = needed;
  EXPECT_TRUE(CreateStatus(SampleProgram(), options).ok());
  options.memory_limit_bytes = needed - 1;
  absl::Status status = CreateStatus(SampleProgram(), options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("parameters 112 bytes"));
  EXPECT_THAT(Message(status), HasSubstr("arena (for entry 'train') 240 bytes"));
}

/// Compiled code needs libm, which needs libc.
TEST(SessionCreationTest, SymbolsOfOtherLibrariesAreNotFound) {
  for (const char *symbol : {"abort", "memset", "sin"}) {
    ProgramBuilder program = SampleProgram();
    program.executable().kernels.front()->implementations.front()->functions.front()->symbol = symbol;
    absl::Status status = CreateStatus(program);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << symbol;
    EXPECT_THAT(Message(status), HasSubstr(absl::StrCat("its code object has no symbol '", symbol, "'")));
  }
}

TEST(SessionCreationTest, MoreThanTheHostHasIsAnAnswer) {
  ProgramBuilder program;
  program.Variable("a", MakeType(DType::kF32, {int64_t{1} << 58}));
  program.Variable("b", MakeType(DType::kF32, {int64_t{1} << 60}));
  program.Variable("c", MakeType(DType::kF32, {int64_t{1} << 60}));
  program.Entry("forward");
  absl::Status status = CreateStatus(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("are available"));
  // A limit above the host's memory has no effect.
  ProgramBuilder large;
  large.Variable("a", MakeType(DType::kF32, {int64_t{1} << 50}));
  large.Entry("forward");
  SessionOptions options;
  options.memory_limit_bytes = INT64_MAX;
  status = CreateStatus(large, options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("parameters, state and derived variables: cannot allocate 4.00 PiB"));
}

TEST(SessionCreationTest, TheCpuHasNoGraphsToLeaveOut) {
  SessionOptions options;
  options.use_graphs = false;
  absl::Status status = CreateStatus(SampleProgram(), options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("use_graphs is false, which has no effect on the CPU"));
}

TEST(SessionCreationTest, RanksOnTheCpuHaveOneExchange) {
  SessionOptions options;
  options.exchange = *ParseGpuExchange("peers");
  absl::Status status = CreateStatus(SampleProgram(), options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("exchange is peers, which has no effect on the CPU"));
}

TEST(SessionCreationTest, RefusesKernelsOfAnotherMachine) {
  ProgramBuilder program = SampleProgram();
  program.executable().objects[0]->target = "sm_90a";
  absl::Status status = CreateStatus(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("its kernels are for sm_90a"));

  program = SampleProgram();
  program.executable().objects[0]->features = {"sse2", "avx9000", "amx_2"};
  status = CreateStatus(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("lacks: avx9000, amx_2"));
}

TEST(SessionCreationTest, RefusesBrokenKernels) {
  ProgramBuilder program = SampleProgram();
  program.executable().kernels[0]->implementations[0]->functions[0]->symbol = "nothing";
  absl::Status status = CreateStatus(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("no symbol 'nothing'"));

  std::vector<uint8_t> whole = SampleProgram().executable().objects[0]->image;
  for (size_t size : {size_t{0}, size_t{10}, size_t{63}, size_t{64}, whole.size() / 4}) {
    program = SampleProgram();
    program.executable().objects[0]->image.resize(size);
    EXPECT_EQ(CreateStatus(program).code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(SessionCreationTest, NamesTheCommandThatTheDeviceLacks) {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kI32, {2, 2}));
  uint32_t y = entry.Output("y", MakeType(DType::kI32, {2, 2}));
  entry.Gemm(x, x, y);
  absl::Status status = CreateStatus(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Message(status), HasSubstr("entry 'forward': gemm 'c0' of "
                                         "layers.0 at model.mlir:1"));
  EXPECT_THAT(Message(status), HasSubstr("i32 x i32 -> i32"));
}

TEST(SessionCreationTest, RefusesCollectivesForOtherRanks) {
  using format::CollectiveKind;
  for (CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    ProgramBuilder program;
    program.executable().world_size = 2;
    EntryBuilder entry = program.Entry("forward");
    uint32_t x = entry.Arena("x", MakeType(DType::kF32, {2}));
    uint32_t y = entry.Output("y", MakeType(DType::kF32, {4}));
    bool gather = kind == CollectiveKind::all_gather;
    entry.Collective(kind, gather ? x : y, gather ? y : x);
    absl::Status status = CreateStatus(program);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr("compiled for 2 ranks"));
  }
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {2}));
  entry.Collective(CollectiveKind::broadcast, y, y, format::Reduction::sum, 1);
  EXPECT_THAT(Message(program.Build().status()), HasSubstr("its root is rank 1"));
  program.executable().world_size = 2;
  EXPECT_THAT(Message(CreateStatus(program)), HasSubstr("compiled for 2 ranks, but this run has 1"));
}

TEST(SessionCreationTest, RefusesImpossibleOptions) {
  SessionOptions options;
  for (int threads : {-1, 40000, 1000000}) {
    options.num_threads = threads;
    absl::Status status = CreateStatus(SampleProgram(), options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr(absl::StrCat("num_threads is ", threads, ", must be from 1 to 4096")));
  }
  options = {};
  options.memory_limit_bytes = -1;
  EXPECT_THAT(Message(CreateStatus(SampleProgram(), options)), HasSubstr("memory_limit_bytes is -1"));
  for (const char *device : {"", "gpu", "cuda:", "cuda:-1", "cuda: 1", "cuda:99999999999", "cpu:0"}) {
    options = {};
    options.device = device;
    absl::Status status = CreateStatus(SampleProgram(), options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << device;
    EXPECT_THAT(Message(status), HasSubstr("expected cpu, cuda or cuda:N"));
  }
}

TEST(SessionCreationTest, RefusesProgramsForAnotherKindOfDevice) {
  SessionOptions options;
  options.device = "cuda:1";
  absl::Status status = CreateStatus(SampleProgram(), options);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("compiled for cpu and cannot run on cuda:1: compile it with --device cuda"));

  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  program.Entry("forward");
  status = CreateStatus(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("compiled for cuda and cannot run on cpu: compile it with --device cpu"));
}

} // namespace
} // namespace cs336::runtime
