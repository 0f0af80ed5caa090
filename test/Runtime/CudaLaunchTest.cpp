//===- CudaLaunchTest.cpp - Launches with clusters and tensor maps --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaSessionFixture.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::cuda_launch_test {
namespace {

using testing::CudaSampleProgram;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MakeType;
using testing::ProgramBuilder;

class CudaLaunchTest : public testing::CudaSessionFixture {
protected:
  static format::ImplementationT &Scaling(ProgramBuilder &program, size_t index = 0) {
    return *program.executable().kernels[0]->implementations[index];
  }

  /// Makes the first kernel read its first operand, f32[3, 4], through a
  /// tensor map.
  static format::TensorMapT &AddMap(ProgramBuilder &program, size_t index = 0) {
    program.executable().kernels[0]->signature->operands[0]->alignment = 16;
    format::FunctionT &function = *Scaling(program, index).functions[0];
    function.symbol = "scale_mapped_rows";
    auto map = std::make_unique<format::TensorMapT>();
    map->dtype = format::DType::f32;
    map->sizes = {4, 3};
    map->strides = {1, 4};
    map->box = {4, 2};
    map->swizzle = format::Swizzle::bytes_32;
    function.tensor_maps.push_back(std::move(map));
    return *function.tensor_maps.back();
  }

  std::vector<float> Step(Session &session, float first) {
    Tensor x = MakeTensor<float>(DType::kF32, {3, 4}, {first, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    Tensor tokens = MakeTensor<int32_t>(DType::kI32, {2, 3}, {0, 1, 2, 3, 4, 15});
    absl::Status status = session.Run("train", {{"x", x}, {"tokens", tokens}});
    EXPECT_TRUE(status.ok()) << status;
    absl::Span<const float> values = session.Output("train", "y")->values<float>();
    return {values.begin(), values.end()};
  }

  /// Returns a session whose norm is 1, 2, 3, 4.
  std::unique_ptr<Session> Start(const ProgramBuilder &program) {
    auto session = Create(program);
    EXPECT_TRUE(session.ok()) << session.status();
    EXPECT_TRUE((*session)->InitializeVariables(7).ok());
    Tensor norm = MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4});
    EXPECT_TRUE((*session)->SetVariable("norm.weight", norm).ok());
    EXPECT_TRUE((*session)->Prepare().ok());
    return *std::move(session);
  }
};

TEST_F(CudaLaunchTest, EncodesATensorMapOnceForAllRuns) {
  ProgramBuilder program = CudaSampleProgram();
  AddMap(program);
  auto session = Start(program);
  EXPECT_EQ(fake.tensor_maps_encoded, 1);
  for (float step : {1, 2, 3})
    EXPECT_THAT(Step(*session, step), ElementsAre(step, 2, 6, 12, 4, 10, 18, 28, 8, 18, 30, 44));
  EXPECT_EQ(fake.tensor_maps_encoded, 1);
}

TEST_F(CudaLaunchTest, AMapStartsAtItsOffset) {
  ProgramBuilder program = CudaSampleProgram();
  format::TensorMapT &map = AddMap(program);
  map.sizes = {4, 2};
  map.offset = 4;
  auto session = Start(program);
  std::vector<float> y = Step(*session, 1);
  y.resize(8); // The last row is not written.
  EXPECT_THAT(y, ElementsAre(4, 10, 18, 28, 8, 18, 30, 44));
}

TEST_F(CudaLaunchTest, LaunchesClusters) {
  ProgramBuilder program = CudaSampleProgram();
  Start(program);
  EXPECT_EQ(fake.cluster, 1u);
  format::FunctionT &last = *program.executable().kernels[1]->implementations[0]->functions[0];
  last.blocks = 4;
  last.cluster = 2;
  Start(program);
  EXPECT_EQ(fake.cluster, 2u);
}

/// Has an implementation for sm_80, and one with a tensor map for sm_90a.
class ArchitecturesTest : public CudaLaunchTest {
protected:
  ArchitecturesTest() {
    format::KernelT &kernel = *program.executable().kernels[0];
    kernel.implementations.push_back(std::make_unique<format::ImplementationT>(*kernel.implementations[0]));
    Scaling(program, 0).objects = {0};
    Scaling(program, 1).objects = {1};
    AddMap(program, 1);
  }

  ProgramBuilder program = CudaSampleProgram({"sm_80", "sm_90a"});
};

TEST_F(ArchitecturesTest, RunsTheImplementationOfTheDevice) {
  for (int major : {8, 9}) {
    fake.major = major;
    fake.tensor_maps_encoded = 0;
    auto session = Start(program);
    EXPECT_EQ(fake.tensor_maps_encoded, major == 9 ? 1 : 0);
    EXPECT_THAT(Step(*session, 5), ElementsAre(5, 2, 6, 12, 4, 10, 18, 28, 8, 18, 30, 44));
  }
}

TEST_F(ArchitecturesTest, OnlyImplementationsThatUseTheWorkspaceGetIt) {
  format::ExecutableT &executable = program.executable();
  executable.kernels[0]->signature->workspace_bytes = 16;
  Scaling(program, 1).workspace_bytes = 16;
  format::EntryT &train = *executable.entries[1];
  auto workspace = std::make_unique<format::BufferT>(*train.buffers[0]);
  workspace->name = "workspace";
  workspace->source = format::BufferSource::arena;
  workspace->byte_offset = (train.arena_bytes + 15) / 16 * 16;
  workspace->shape = {4};
  workspace->strides = {1};
  workspace->byte_size = 16;
  train.arena_bytes = workspace->byte_offset + 16;
  workspace->index = train.allocations.size();
  auto allocation = std::make_unique<format::AllocationT>();
  allocation->type = std::make_unique<format::TensorTypeT>(MakeType(DType::kF32, {4}));
  allocation->byte_offset = workspace->byte_offset;
  allocation->byte_size = 16;
  train.allocations.push_back(std::move(allocation));
  train.commands[0]->body.AsLaunch()->workspace = train.buffers.size();
  train.buffers.push_back(std::move(workspace));
  fake.major = 8;
  EXPECT_THAT(Step(*Start(program), 5), ElementsAre(5, 2, 6, 12, 4, 10, 18, 28, 8, 18, 30, 44));
  fake.major = 9; // The fake's function has no parameter for a workspace.
  EXPECT_THAT(Message(CreateStatus(program)),
              HasSubstr("its kernel does not take the 4 operands and 1 tensor maps that it gives"));
}

TEST_F(CudaLaunchTest, RefusesTensorMapsThatTheFunctionDoesNotTake) {
  ProgramBuilder program = CudaSampleProgram();
  AddMap(program);
  Scaling(program).functions[0]->symbol = "scale_rows";
  absl::Status status = CreateStatus(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("its kernel does not take the 3 operands and 1 tensor maps that it gives"));
  // The other way round, the driver finds that parameters are missing.
  program = CudaSampleProgram();
  AddMap(program);
  Scaling(program).functions[0]->tensor_maps.clear();
  EXPECT_THAT(Message(CreateStatus(program)), HasSubstr("cuLaunchKernelEx: "));
}

TEST_F(CudaLaunchTest, NamesTheMapThatTheDriverRejects) {
  ProgramBuilder program = CudaSampleProgram();
  format::TensorMapT &map = AddMap(program);
  map.sizes = map.box = {4, 3, 1}; // The fake supports rank 2 only.
  map.strides = {1, 4, 12};
  absl::Status status = CreateStatus(program);
  EXPECT_THAT(Message(status), HasSubstr("launch 'c0'"));
  EXPECT_THAT(Message(status),
              HasSubstr("function 'scale_mapped_rows': tensor map 0: of operand 0 from element 0 on, f32[4, 3, 1] with "
                        "strides [1, 4, 12], boxes of [4, 3, 1], swizzle bytes_32: cuTensorMapEncodeTiled: "));
}

} // namespace
} // namespace cs336::runtime::cuda_launch_test
