//===- KernelSignatureTest.cpp - Launches that a kernel rejects -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/KernelSignature.h"

#include "ProgramBuilder.h"
#include "ProgramParts.h"
#include "SessionParts.h"
#include "cs336/runtime/Executable.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::kernel_signature_test {
namespace {

using testing::Buffer;
using testing::Entry;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::Launch;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;
using testing::Signature;

/// Builds y = x * w and then y = y * w, in place, with one kernel each.
ProgramBuilder ScalingProgram() {
  ProgramBuilder program;
  uint32_t scale = program.Kernel("scale_rows"), in_place = program.Kernel("scale_rows");
  program.executable().kernels[in_place]->name = "scale_rows_in_place";
  program.Variable("w", MakeType(DType::kF32, {4}));
  program.Variable("ids", MakeType(DType::kI32, {4}));
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {3, 4}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {3, 4}));
  uint32_t w = entry.Variable("w");
  entry.Variable("ids");
  entry.Arena("other", MakeType(DType::kF32, {3, 4}));
  entry.Arena("scratch", MakeType(DType::kF32, {16}));
  entry.Launch(scale, {x, w, y}, {2}, /*rows=*/3);
  entry.Launch(in_place, {y, w, y}, {2}, /*rows=*/3);
  return program;
}

/// Return buffers of the program.
enum : uint32_t { kX, kY, kW, kIds, kOther, kScratch };

/// One launch that differs from what the kernel was compiled for, and the
/// error.
struct WrongLaunch {
  const char *name;
  std::function<void(format::ExecutableT &)> apply;
  const char *message;
};

const WrongLaunch kWrongLaunches[] = {
    {"TooFewOperands", [](auto &e) { Launch(e).operands.pop_back(); },
     "command 0 'c0': it has 2 operands, but the kernel has 3"},
    {"TooManyOperands", [](auto &e) { Launch(e).operands.push_back(kW); }, "it has 4 operands"},
    {"OperandsInAnotherOrder", [](auto &e) { std::swap(Launch(e).operands[0], Launch(e).operands[1]); },
     "operand 0: 'w' f32[4] with strides [1], but the kernel requires f32[3, 4] with strides [4, 1]"},
    {"OperandOfAnotherType", [](auto &e) { Launch(e).operands[1] = kIds; }, "operand 1: 'ids' i32[4]"},
    {"OperandOfOtherSizes",
     [](auto &e) {
       Buffer(e, kW).shape = {2};
       Buffer(e, kW).byte_size = 8;
     },
     "operand 1: 'w' f32[2] with strides [1], but the kernel requires f32[4]"},
    {"OperandOfAnotherLayout", [](auto &e) { Buffer(e, kX).strides = {1, 3}; },
     "operand 0: 'x' f32[3, 4] with strides [1, 3]"},
    {"OperandOfAnotherRank",
     [](auto &e) {
       Buffer(e, kX).shape = {3, 4, 1};
       Buffer(e, kX).strides = {4, 1, 1};
     },
     "operand 0: 'x' f32[3, 4, 1]"},
    {"OperandAtAnotherAlignment",
     [](auto &e) {
       Signature(e).operands[2]->alignment = 16;
       Buffer(e, kY).byte_offset = 8;
     },
     "operand 2: 'y' starts at byte 8, but the kernel requires a multiple of 16"},
    {"WritesAnInput", [](auto &e) { Launch(e).writes = {0}; }, "it writes operands [0], but the kernel writes [2]"},
    {"WritesNothing", [](auto &e) { Launch(e).writes.clear(); }, "it writes operands [], but the kernel writes [2]"},
    {"WritesOperandsItHasNot", [](auto &e) { Launch(e).writes = {3}; }, "it writes operands [3]"},
    {"MoreRows", [](auto &e) { Launch(e).rows = 4; },
     "it has 4 rows and 0 bytes of memory per thread, but the kernel requires 3 and 0"},
    {"NoRows", [](auto &e) { Launch(e).rows = 0; }, "it has 0 rows"},
    {"LessThreadMemory",
     [](auto &e) {
       Signature(e).thread_bytes = 4096;
       Launch(e).thread_bytes = 4032;
     },
     "4032 bytes of memory per thread, but the kernel requires 3 and 4096"},
    {"WorkspaceThatItDoesNotTake", [](auto &e) { Launch(e).workspace = kScratch; },
     "it has a workspace, but the kernel requires 0 bytes"},
    {"OverAnOperandThatItReads", [](auto &e) { Launch(e).operands = {kY, kW, kY}; },
     "it writes 'y' f32[3, 4] with strides [4, 1] over bytes of 'y'"},
    {"OverPartOfAnOperand",
     [](auto &e) {
       Launch(e).operands = {kOther, kW, kY};
       Buffer(e, kOther).byte_offset = Buffer(e, kY).byte_offset + 16;
     },
     "it writes 'y' f32[3, 4] with strides [4, 1] over bytes of 'other'"},
    {"InPlaceOverPartOfAnOperand",
     [](auto &e) {
       Launch(e, 1).operands = {kOther, kW, kY};
       Buffer(e, kOther).byte_offset = Buffer(e, kY).byte_offset + 16;
     },
     "over bytes of 'other'"},
    {"InPlaceOverAnotherOperand",
     [](auto &e) {
       Signature(e, 1).operands[0]->shape = Signature(e, 1).operands[2]->shape = Buffer(e, kOther).shape = {4};
       Signature(e, 1).operands[0]->strides = Signature(e, 1).operands[2]->strides = Buffer(e, kOther).strides = {1};
       Launch(e, 1).operands = {kOther, kOther, kOther};
     },
     "over bytes of 'other'"},
    {"SignatureWithoutOperands", [](auto &e) { Signature(e).operands.clear(); },
     "kernel 'scale_rows': its signature has no operands"},
    {"SignatureWithoutRows", [](auto &e) { Signature(e).rows = 0; }, "its signature has 0 rows, for cpu"},
    {"SignatureOfUnknownType", [](auto &e) { Signature(e).operands[0]->dtype = static_cast<format::DType>(9); },
     "unknown element type"},
    {"SignatureOfOddAlignment", [](auto &e) { Signature(e).operands[0]->alignment = 12; },
     "operand 0 of its signature: alignment 12 is not a power of two from 1 to 64"},
    {"SignatureOfMoreAlignmentThanStorage", [](auto &e) { Signature(e).operands[0]->alignment = 128; },
     "alignment 128"},
    {"SignatureThatOverflows", [](auto &e) { Signature(e).operands[0]->strides[0] = INT64_MAX / 2; }, "overflows"},
    {"SignatureOfSharedAddresses", [](auto &e) { Signature(e).operands[2]->strides[0] = 1; },
     "operand 2 of its signature: it is written, but its elements share addresses"},
    {"SignatureOfTooMuchThreadMemory", [](auto &e) { Signature(e).thread_bytes = (1LL << 40) + 1; },
     "1099511627777 bytes of memory per thread"},
    {"SignatureOfNegativeThreadMemory", [](auto &e) { Signature(e).thread_bytes = -1; }, "-1 bytes of memory"},
    {"SignatureOfAWorkspaceOnTheCpu", [](auto &e) { Signature(e).workspace_bytes = 64; }, "a workspace of 64 bytes"},
    {"SignatureThatReadsAndOverwrites", [](auto &e) { Signature(e).operands[0]->written_over = {1}; },
     "it overwrites other operands, but is not written"},
    {"SignatureOverAnOperandThatItHasNot", [](auto &e) { Signature(e).operands[2]->written_over = {3}; },
     "it overwrites operand 3 of 3"},
    {"SignatureOverAnotherLayout", [](auto &e) { Signature(e).operands[2]->written_over = {1}; },
     "it overwrites operand 1, which is also written or has another layout"},
    {"RangeOfNumbers", [](auto &e) { Signature(e).operands[0]->ranges = {{0, 4}}; },
     "operand 0 of its signature: it has ranges of integers, but its elements are f32"},
};

class WrongLaunchTest : public ::testing::TestWithParam<WrongLaunch> {};

TEST_P(WrongLaunchTest, IsRefused) {
  ProgramBuilder program = ScalingProgram();
  GetParam().apply(program.executable());
  absl::Status status = program.Build().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(Message(status), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(KernelSignatureTest, WrongLaunchTest, ::testing::ValuesIn(kWrongLaunches),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(KernelSignatureTest, AcceptsWhatKernelsWereCompiledFor) {
  EXPECT_TRUE(ScalingProgram().Build().ok()) << ScalingProgram().Build().status();
  // An operand that may be overwritten need not be.
  ProgramBuilder program = ScalingProgram();
  Launch(program.executable(), 1).operands = {kX, kW, kY};
  EXPECT_TRUE(program.Build().ok()) << program.Build().status();
  program = ScalingProgram();
  Launch(program.executable()).grain = 1000;
  EXPECT_TRUE(program.Build().ok()) << program.Build().status();
}

TEST(KernelSignatureTest, ChecksWorkspacesOnGPUs) {
  auto build = [](int64_t wanted, int64_t offset, bool given) {
    ProgramBuilder program = ScalingProgram();
    format::ExecutableT &executable = program.executable();
    executable.target = format::Target::cuda;
    for (auto &kernel : executable.kernels) {
      kernel->implementations[0]->functions[0]->blocks = kernel->implementations[0]->functions[0]->threads = 1;
      kernel->signature->rows = 1;
    }
    for (size_t i = 0; i != 2; ++i)
      Launch(executable, i).rows = 1;
    Signature(executable).workspace_bytes = wanted;
    Entry(executable).arena_bytes += 16;
    EntryBuilder(executable, Entry(executable)).Move(kScratch, Buffer(executable, kScratch).byte_offset + offset);
    if (given)
      Launch(executable).workspace = kScratch;
    return Message(program.Build().status());
  };
  EXPECT_EQ(build(64, 0, true), "");
  EXPECT_EQ(build(64, 16, true), "");
  EXPECT_THAT(build(68, 0, true), HasSubstr("its workspace has 64 bytes from byte 128 on, but the kernel requires 68"));
  EXPECT_THAT(build(64, 8, true), HasSubstr("from byte 136 on, but the kernel requires 64 from a multiple of 16"));
  EXPECT_THAT(build(64, 0, false), HasSubstr("it has no workspace, but the kernel requires 64 bytes"));
  EXPECT_THAT(build(0, 0, true), HasSubstr("it has a workspace, but the kernel requires 0 bytes"));
}

TEST(KernelSignatureTest, SymbolsEndWithTheSignature) {
  ProgramBuilder program = ScalingProgram();
  format::ExecutableT &executable = program.executable();
  EXPECT_EQ(format::ToSymbolSuffix(Signature(executable)), "(f32[3,4|4,1]%4;f32[4|1]%4;=f32[3,4|4,1]%4)3");
  Signature(executable, 1).thread_bytes = Launch(executable, 1).thread_bytes = 64;
  EXPECT_EQ(format::ToSymbolSuffix(Signature(executable, 1)), "(f32[3,4|4,1]%4;f32[4|1]%4;0=f32[3,4|4,1]%4)3+64");
  format::SignatureT gathering = Signature(testing::GatherProgram().executable());
  gathering.operands[1]->ranges = {{-1, 96}, format::AnyInteger()};
  EXPECT_EQ(format::ToSymbolSuffix(gathering), "(f32[5,4|4,1]%4;i64[3|1]%8{-1..96,*};=f32[3,4|4,1]%4)3");

  std::string &symbol = executable.kernels[0]->implementations[0]->functions[0]->symbol;
  symbol = "a (b)" + format::ToSymbolSuffix(Signature(executable));
  EXPECT_TRUE(program.Build().ok()) << program.Build().status();
  // Code for 3 rows under a signature with 4, in both places that state the
  // number.
  Signature(executable).rows = Launch(executable).rows = 4;
  EXPECT_THAT(Message(program.Build().status()),
              HasSubstr("kernel 'scale_rows': its code was compiled for (f32[3,4|4,1]%4;f32[4|1]%4;=f32[3,4|4,1]%4)3, "
                        "but its signature is (f32[3,4|4,1]%4;f32[4|1]%4;=f32[3,4|4,1]%4)4"));
}

} // namespace
} // namespace cs336::runtime::kernel_signature_test
