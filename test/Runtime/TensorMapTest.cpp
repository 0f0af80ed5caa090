//===- TensorMapTest.cpp - Rules of tensor maps ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "ProgramParts.h"
#include "SessionParts.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::tensor_map_test {
namespace {

using testing::Entry;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::Launch;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;
using testing::Signature;

constexpr int64_t kHuge = int64_t{1} << 62;

format::FunctionT &Function(format::ExecutableT &executable) {
  return *executable.kernels[0]->implementations[0]->functions[0];
}

/// Builds a launch for GPUs whose first operand, bf16[6, 5, 64], has a tensor map
/// with boxes of 4 x 1 x 64 elements, and which has 64 bytes of workspace.
ProgramBuilder MappedProgram() {
  ProgramBuilder program;
  uint32_t kernel = program.Kernel("scale_rows");
  format::ExecutableT &executable = program.executable();
  executable.target = format::Target::cuda;
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kBF16, {6, 5, 64}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {3, 4}));
  uint32_t workspace = entry.Arena("workspace", MakeType(DType::kF32, {16}));
  entry.Launch(kernel, {x, y}, {1}, /*rows=*/1);
  Launch(executable).workspace = workspace;
  Signature(executable).workspace_bytes = 64;
  Signature(executable).operands[0]->alignment = 16;
  executable.kernels[0]->implementations[0]->workspace_bytes = 64;
  Function(executable).blocks = 4;
  Function(executable).threads = 128;
  auto map = std::make_unique<format::TensorMapT>();
  map->dtype = format::DType::bf16;
  map->sizes = {64, 5, 6};
  map->strides = {1, 64, 320};
  map->box = {64, 1, 4};
  map->swizzle = format::Swizzle::bytes_128;
  map->promotion = format::L2Promotion::bytes_256;
  Function(executable).tensor_maps.push_back(std::move(map));
  return program;
}

format::TensorMapT &Map(format::ExecutableT &executable) { return *Function(executable).tensor_maps[0]; }

/// One change of the program, and the error, or "" if the program loads.
struct Change {
  const char *name;
  std::function<void(format::ExecutableT &)> apply;
  const char *message;
};

const Change kChanges[] = {
    {"Nothing", [](auto &) {}, ""},
    {"UnknownOperand", [](auto &e) { Map(e).operand = 3; }, "the function has 2 operands and 64 bytes of workspace"},
    {"AnotherDType", [](auto &e) { Map(e).dtype = format::DType::f16; },
     "its elements are f16, but the operand is bf16[6, 5, 64]"},
    {"UnknownDType", [](auto &e) { Map(e).dtype = static_cast<format::DType>(9); }, "unknown element type"},
    {"NoDimensions", [](auto &e) { Map(e).sizes = Map(e).strides = Map(e).box = {}; }, "it has 0 dimensions"},
    {"FiveDimensions",
     [](auto &e) {
       Map(e).sizes = {64, 5, 3, 2, 1};
       Map(e).strides = {1, 64, 320, 960, 0};
       Map(e).box = {64, 1, 1, 1, 1};
     },
     ""},
    {"SixDimensions",
     [](auto &e) {
       Map(e).sizes = {64, 5, 3, 2, 1, 1};
       Map(e).strides = {1, 64, 320, 960, 1920, 1920};
       Map(e).box = {64, 1, 1, 1, 1, 1};
     },
     "it has 6 dimensions"},
    {"BoxOfAnotherRank", [](auto &e) { Map(e).box = {64, 1}; }, "and its box has 2"},
    {"StridesOfAnotherRank", [](auto &e) { Map(e).strides = {1, 64}; }, "3 sizes and 2 strides"},
    {"EmptyDimension", [](auto &e) { Map(e).sizes[1] = 0; }, "size 0"},
    {"NegativeStride", [](auto &e) { Map(e).strides[1] = -64; }, "stride -64 is negative"},
    {"InnermostStride", [](auto &e) { Map(e).strides[0] = 2; }, "stride 2 of dimension 0 is not 1"},
    {"OddStride", [](auto &e) { Map(e).strides[1] = 68; },
     "stride 68 of dimension 1 is not a multiple of 16 bytes below 2^40 bytes"},
    {"BroadcastStride", [](auto &e) { Map(e).strides[1] = 0; }, ""},
    {"LargeStride",
     [](auto &e) {
       Map(e).sizes[2] = 1;
       Map(e).strides[2] = int64_t{1} << 39;
     },
     "of dimension 2 is not a multiple of 16 bytes below 2^40 bytes"},
    {"LargeStrideBelowTheLimit",
     [](auto &e) {
       Map(e).sizes[2] = 1;
       Map(e).strides[2] = (int64_t{1} << 39) - 8;
     },
     ""},
    {"LargeSize",
     [](auto &e) {
       Map(e).sizes[1] = (int64_t{1} << 32) + 1;
       Map(e).strides[1] = 0;
     },
     "size 4294967297 of dimension 1 is above 2^32"},
    {"OverflowingExtent", [](auto &e) { Map(e).strides[2] = kHuge; }, "overflows"},
    {"EmptyBox", [](auto &e) { Map(e).box[1] = 0; }, "size 0 of a box in dimension 1 is not from 1 to 256"},
    {"LargeBox", [](auto &e) { Map(e).box[2] = 257; }, "size 257 of a box in dimension 2"},
    {"BoxBeyondTheTensor", [](auto &e) { Map(e).box[2] = 256; }, ""},
    {"OddBox", [](auto &e) { Map(e).box[0] = 12; }, "a box has 24 bytes in dimension 0, which is not a multiple of 16"},
    {"BoxAboveTheSpan", [](auto &e) { Map(e).swizzle = format::Swizzle::bytes_64; },
     "a box has 128 bytes in dimension 0, above the 64 of its swizzle"},
    {"BoxWithoutASpan",
     [](auto &e) {
       Map(e).box[0] = 256;
       Map(e).swizzle = format::Swizzle::none;
     },
     ""},
    {"UnknownSwizzle", [](auto &e) { Map(e).swizzle = static_cast<format::Swizzle>(4); }, "unknown swizzle"},
    {"UnknownPromotion", [](auto &e) { Map(e).promotion = static_cast<format::L2Promotion>(4); },
     "unknown L2 promotion"},
    {"OneRowTooMany", [](auto &e) { Map(e).sizes[2] = 7; },
     "its 4480 bytes from element 0 on are not within the 3840 of the operand"},
    {"BeforeTheOperand", [](auto &e) { Map(e).offset = -64; }, "bytes from element -64 on"},
    {"BehindTheOperand", [](auto &e) { Map(e).offset = 64; }, "its 3840 bytes from element 64 on are not within"},
    {"LargeOffset", [](auto &e) { Map(e).offset = kHuge; }, "are not within the 3840"},
    {"SecondHalf",
     [](auto &e) {
       Map(e).offset = 3 * 320;
       Map(e).sizes[2] = 3;
     },
     ""},
    {"OddOffset",
     [](auto &e) {
       Map(e).offset = 4;
       Map(e).sizes[2] = 3;
     },
     "it starts at element 4 of an operand whose address is a multiple of 16, which is not a multiple of 16 bytes"},
    {"OperandWithoutAlignment", [](auto &e) { Signature(e).operands[0]->alignment = 8; },
     "of an operand whose address is a multiple of 8"},
    {"Workspace",
     [](auto &e) {
       Map(e).operand = 2;
       Map(e).dtype = format::DType::f32;
       Map(e).sizes = {8, 2};
       Map(e).strides = {1, 8};
       Map(e).box = {8, 1};
     },
     ""},
    {"BehindTheWorkspace", [](auto &e) { Map(e).operand = 2; }, "are not within the 64 of the operand"},
    {"WorkspaceOfAnotherImplementation",
     [](auto &e) {
       Map(e).operand = 2;
       e.kernels[0]->implementations[0]->workspace_bytes = 0;
     },
     "the function has 2 operands and 0 bytes of workspace"},
    {"LargerWorkspace", [](auto &e) { e.kernels[0]->implementations[0]->workspace_bytes = 65; },
     "it uses 65 bytes of a workspace of 64"},
    {"NegativeWorkspace", [](auto &e) { e.kernels[0]->implementations[0]->workspace_bytes = -1; }, "it uses -1 bytes"},
    {"NoImplementation", [](auto &e) { e.kernels[0]->implementations.clear(); }, "it has 0 implementations"},
    {"Clusters", [](auto &e) { Function(e).cluster = 4; }, ""},
    {"NoCluster", [](auto &e) { Function(e).cluster = 0; }, "with 4 blocks in clusters of 0"},
    {"LargeCluster",
     [](auto &e) {
       Function(e).blocks = 16;
       Function(e).cluster = 16;
     },
     "with 16 blocks in clusters of 16"},
    {"IncompleteClusters", [](auto &e) { Function(e).cluster = 3; }, "with 4 blocks in clusters of 3"},
};

class TensorMapRulesTest : public ::testing::TestWithParam<Change> {};

TEST_P(TensorMapRulesTest, IsCheckedWhenAProgramLoads) {
  ProgramBuilder program = MappedProgram();
  GetParam().apply(program.executable());
  std::string message = Message(program.Build().status());
  if (std::string(GetParam().message).empty())
    EXPECT_EQ(message, "");
  else
    EXPECT_THAT(message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(TensorMapTest, TensorMapRulesTest, ::testing::ValuesIn(kChanges),
                         [](const auto &change) { return std::string(change.param.name); });

TEST(TensorMapTest, ErrorsNameKernelFunctionAndOperand) {
  ProgramBuilder program = MappedProgram();
  Map(program.executable()).box[1] = 0;
  EXPECT_THAT(Message(program.Build().status()),
              HasSubstr("kernel 'scale_rows': function 'scale_rows': tensor map 0 of operand 0: size 0 of a box"));
}

TEST(TensorMapTest, IsForGPUs) {
  ProgramBuilder program = MappedProgram();
  format::ExecutableT &executable = program.executable();
  executable.target = format::Target::cpu;
  Function(executable).blocks = Function(executable).threads = 0;
  Signature(executable).workspace_bytes = executable.kernels[0]->implementations[0]->workspace_bytes = 0;
  Launch(executable).workspace.reset();
  EXPECT_THAT(Message(program.Build().status()), HasSubstr("function 'scale_rows' has tensor maps, for cpu"));
}

} // namespace
} // namespace cs336::runtime::tensor_map_test
