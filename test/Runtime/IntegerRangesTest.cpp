//===- IntegerRangesTest.cpp - Ranges of integers used as indices ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "ProgramParts.h"
#include "SessionParts.h"
#include "cs336/runtime/Executable.h"
#include "cs336/runtime/format/KernelSignature.h"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::integer_ranges_test {
namespace {

using testing::Buffer;
using ::testing::ElementsAre;
using testing::Entry;
using testing::EntryBuilder;
using testing::GatherProgram;
using ::testing::HasSubstr;
using testing::Launch;
using testing::MakeSession;
using testing::MakeTensor;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;
using testing::Signature;

/// Return the buffers of the program, and its commands.
enum : uint32_t { kIds, kRows, kCheckedRows, kTable, kState, kRow, kChecked, kOther };
enum : size_t { kGather, kCheck, kGatherChecked };

/// Adds commands before the last one, which reads the checked integers.
void AddBeforeLast(format::ExecutableT &executable, const std::function<void(EntryBuilder &)> &add) {
  auto &commands = Entry(executable).commands;
  size_t before = commands.size();
  EntryBuilder builder(executable, Entry(executable));
  add(builder);
  std::rotate(commands.begin() + before - 1, commands.begin() + before, commands.end());
}

/// Adds a buffer in the arena over the bytes of another one, from `offset` on.
uint32_t AddOver(EntryBuilder &entry, uint32_t buffer, DType dtype, std::vector<int64_t> shape, int64_t offset = 0) {
  uint32_t added = entry.Arena("over", MakeType(dtype, std::move(shape)));
  entry.entry().buffers[added]->byte_offset = entry.entry().buffers[buffer]->byte_offset + offset;
  return added;
}

format::CheckBoundT &Check(format::ExecutableT &executable) {
  return *Entry(executable).commands[kCheck]->body.AsCheckBound();
}

/// Adds a kernel that writes 3 integers in [0, most].
uint32_t AddProducer(EntryBuilder &entry, format::ExecutableT &executable, uint32_t target, int64_t most) {
  executable.kernels.push_back(std::make_unique<format::KernelT>(*executable.kernels[0]));
  format::KernelT &kernel = *executable.kernels.back();
  kernel.name = "producer";
  kernel.implementations[0]->functions[0]->symbol = "producer";
  kernel.signature = std::make_unique<format::SignatureT>();
  uint32_t index = executable.kernels.size() - 1;
  entry.Launch(index, {target}, {0}, /*rows=*/3);
  kernel.signature->operands[0]->ranges = {{0, most}};
  return index;
}

struct Change {
  const char *name;
  std::function<void(format::ExecutableT &)> apply;
  const char *message = "";
};

constexpr char kUnbounded[] = "command 2 'c2': operand 1: 'checked' i64[3] with strides [1] holds unbounded "
                              "integers, but the kernel uses them as indices in 0..4";
constexpr char kUnboundedLater[] = "operand 1: 'checked' i64[3] with strides [1] holds unbounded integers";

const Change kRefused[] = {
    {"LargerInputBound", [](auto &e) { Entry(e).inputs[0]->bound = 6; },
     "command 0 'c0': operand 1: 'ids.view' i64[3] with strides [1] holds integers in 0..5, but the kernel uses them "
     "as indices in 0..4"},
    {"NoInputBound", [](auto &e) { Entry(e).inputs[0]->bound = 0; }, "command 0 'c0': operand 1"},
    {"LargerCheck", [](auto &e) { Check(e).bound = INT64_MAX; }, "holds integers in 0..9223372036854775806"},
    {"NoCheck", [](auto &e) { Entry(e).commands.erase(Entry(e).commands.begin() + kCheck); },
     "command 1 'c2': operand 1"},
    {"CheckAfterwards", [](auto &e) { std::swap(Entry(e).commands[kCheck], Entry(e).commands[kGatherChecked]); },
     "command 1 'c2': operand 1"},
    {"CheckOfAnotherBuffer", [](auto &e) { Check(e).dst = kOther; }, kUnbounded},
    {"CheckOfLess", [](auto &e) { Buffer(e, kState).shape = Buffer(e, kChecked).shape = {2}; }, "'checked' i64[2]"},
    {"CheckOfAPart",
     [](auto &e) {
       EntryBuilder entry(e, Entry(e));
       Check(e).src = entry.View(kState, {2}, {1});
       Check(e).dst = entry.View(kChecked, {2}, {1});
     },
     kUnbounded},
    {"CheckOfTwoParts", // With an unchecked element between them.
     [](auto &e) {
       EntryBuilder entry(e, Entry(e));
       Check(e).src = entry.View(kState, {1}, {1});
       Check(e).dst = entry.View(kChecked, {1}, {1});
       uint32_t last = entry.View(kChecked, {1}, {1}, 16);
       AddBeforeLast(e, [&](EntryBuilder &b) { b.CheckBound(Check(e).src, last, 5); });
     },
     kUnboundedLater},
    {"CheckOfOtherElements",
     [](auto &e) {
       EntryBuilder entry(e, Entry(e));
       Check(e).src = AddOver(entry, kOther, DType::kI32, {6});
       Check(e).dst = AddOver(entry, kChecked, DType::kI32, {6});
     },
     kUnbounded},
    {"Variable", [](auto &e) { Launch(e, kGatherChecked).operands[1] = kState; },
     "'state' i64[3] with strides [1] holds unbounded integers"},
    {"CheckOfAVariableInPlace", // Another entry or a checkpoint writes it again.
     [](auto &e) { Check(e).dst = Launch(e, kGatherChecked).operands[1] = kState; }, "'state' i64[3]"},
    {"ArenaOfAnotherEntry", [](auto &e) { Launch(e, kGatherChecked).operands[1] = kOther; }, "'other' i64[3]"},
    {"Overwritten", [](auto &e) { AddBeforeLast(e, [](auto &b) { b.Copy(kState, kChecked); }); }, kUnboundedLater},
    {"OverwrittenInPart",
     [](auto &e) {
       AddBeforeLast(e, [](auto &b) { b.Copy(b.View(kState, {1}, {1}), b.View(kChecked, {1}, {1}, 16)); });
     },
     kUnboundedLater},
    {"OverwrittenWithGaps",
     [](auto &e) { AddBeforeLast(e, [](auto &b) { b.Copy(b.View(kState, {2}, {2}), b.View(kChecked, {2}, {2})); }); },
     kUnboundedLater},
    {"OverwrittenByNumbers",
     [](auto &e) {
       AddBeforeLast(e, [](auto &b) { b.Copy(b.View(kTable, {1}, {1}), AddOver(b, kChecked, DType::kF32, {1}, 20)); });
     },
     kUnboundedLater},
    {"OverwrittenByARank",
     [](auto &e) {
       AddBeforeLast(e, [](auto &b) { b.Collective(format::CollectiveKind::all_reduce, kState, kChecked); });
     },
     kUnboundedLater},
    {"OverwrittenByAGemm",
     [](auto &e) {
       AddBeforeLast(e, [](auto &b) {
         b.Gemm(b.View(kTable, {2, 2}, {4, 1}), b.View(kTable, {2, 2}, {4, 1}),
                AddOver(b, kChecked, DType::kF32, {2, 2}));
       });
     },
     kUnboundedLater},
    {"OverwrittenByAWorkspace",
     [](auto &e) {
       AddBeforeLast(e, [](auto &b) {
         uint32_t c = b.Arena("c", MakeType(DType::kF32, {2, 2}));
         uint32_t workspace = AddOver(b, kChecked, DType::kF32, {1}, 8);
         b.Gemm(b.View(kTable, {2, 2}, {4, 1}), b.View(kTable, {2, 2}, {4, 1}), c).workspace = workspace;
       });
     },
     kUnboundedLater},
    {"OverwrittenByAKernel", [](auto &e) { AddBeforeLast(e, [&](auto &b) { AddProducer(b, e, kChecked, 5); }); },
     "'checked' i64[3] with strides [1] holds integers in 0..5"},
    {"OverwrittenByAKernelOfAnyIntegers",
     [](auto &e) {
       AddBeforeLast(e, [&](auto &b) { AddProducer(b, e, kChecked, 4); });
       e.kernels.back()->signature->operands[0]->ranges.clear();
     },
     kUnboundedLater},
    {"LargerIntegersAmongThem",
     [](auto &e) {
       AddBeforeLast(e, [](auto &b) { b.CheckBound(b.View(kState, {1}, {1}), b.View(kChecked, {1}, {1}, 8), 6); });
     },
     "'checked' i64[3] with strides [1] holds integers in 0..5"},
    {"LargerIntegersWithGapsAmongThem",
     [](auto &e) {
       Entry(e).inputs[0]->bound = 6;
       Entry(e).commands.erase(Entry(e).commands.begin() + kGather);
       AddBeforeLast(e, [](auto &b) { b.Copy(b.View(kIds, {2}, {2}), b.View(kChecked, {2}, {2})); });
     },
     "'checked' i64[3] with strides [1] holds integers in 0..5"},
    {"VariantThatTheKernelHasNot", [](auto &e) { Launch(e).variant = 1; },
     "command 0 'c0': it is of variant 1, but the kernel has 1"},
    {"RangesOfAnotherNumberOfVariants",
     [](auto &e) {
       AddBeforeLast(e, [&](auto &b) { AddProducer(b, e, kOther, 4); });
       format::SignatureT &signature = *e.kernels.back()->signature;
       signature.operands.push_back(std::make_unique<format::OperandSignatureT>(*signature.operands[0]));
       signature.operands[1]->ranges = {{0, 4}, {0, 5}};
     },
     "kernel 'producer': operand 1 of its signature: it has ranges for 2 variants of launches, but another operand has "
     "1"},
    {"RangeWithoutIntegers", [](auto &e) { AddBeforeLast(e, [&](auto &b) { AddProducer(b, e, kOther, -1); }); },
     "no integer is in the range 0..-1"},
};

class RefusedIndicesTest : public ::testing::TestWithParam<Change> {};

TEST_P(RefusedIndicesTest, AreNamed) {
  ProgramBuilder program = GatherProgram();
  GetParam().apply(program.executable());
  absl::Status status = program.Build().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(Message(status), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(IntegerRangesTest, RefusedIndicesTest, ::testing::ValuesIn(kRefused),
                         [](const auto &info) { return std::string(info.param.name); });

const Change kAccepted[] = {
    {"AsTheyAre", [](auto &) {}},
    {"SmallerBounds", [](auto &e) { Entry(e).inputs[0]->bound = Check(e).bound = 1; }},
    {"AnotherPartOfAnInput", [](auto &e) { Buffer(e, kRow).byte_offset = 0; }},
    {"PartOfWhatWasChecked",
     [](auto &e) {
       EntryBuilder entry(e, Entry(e));
       Check(e).src = entry.View(kIds, {2, 3}, {3, 1});
       Check(e).dst = entry.Arena("all", MakeType(DType::kI64, {2, 3}));
       Launch(e, kGatherChecked).operands[1] = entry.View(Check(e).dst, {3}, {1}, 24);
     }},
    {"CheckedInParts",
     [](auto &e) {
       EntryBuilder entry(e, Entry(e));
       Check(e).src = entry.View(kState, {2}, {1});
       Check(e).dst = entry.View(kChecked, {2}, {1}, 8);
       AddBeforeLast(e, [](auto &b) { b.CheckBound(b.View(kState, {1}, {1}), b.View(kChecked, {1}, {1}), 3); });
     }},
    {"Copied",
     [](auto &e) {
       AddBeforeLast(e, [](auto &b) { b.Copy(kChecked, kOther); });
       Launch(e, kGatherChecked + 1).operands[1] = kOther;
     }},
    {"CheckedInsideOfLargerOnes", // The arena's bytes are reused.
     [](auto &e) {
       EntryBuilder entry(e, Entry(e));
       uint32_t all = entry.Arena("all", MakeType(DType::kI64, {2, 3}));
       entry.Move(kChecked, Buffer(e, all).byte_offset + 8);
       entry.CheckBound(kIds, all, 100);
       std::rotate(Entry(e).commands.begin() + kCheck, Entry(e).commands.end() - 1, Entry(e).commands.end());
     }},
    {"CopiedWithGaps",
     [](auto &e) { AddBeforeLast(e, [](auto &b) { b.Copy(b.View(kIds, {2}, {2}), b.View(kChecked, {2}, {2})); }); }},
    {"WrittenByAKernel",
     [](auto &e) {
       Check(e).dst = kOther;
       AddBeforeLast(e, [&](auto &b) { AddProducer(b, e, kChecked, 4); });
     }},
    {"OverwrittenAfterwards", [](auto &e) { EntryBuilder(e, Entry(e)).Copy(kState, kChecked); }},
    {"ByVariants",
     [](auto &e) {
       Check(e).dst = kOther;
       AddBeforeLast(e, [&](auto &b) { AddProducer(b, e, kChecked, 9); });
       e.kernels.back()->signature->operands[0]->ranges.push_back({0, 4});
       Launch(e, kGatherChecked).variant = 1;
     }},
};

class AcceptedIndicesTest : public ::testing::TestWithParam<Change> {};

TEST_P(AcceptedIndicesTest, Load) {
  ProgramBuilder program = GatherProgram();
  GetParam().apply(program.executable());
  EXPECT_TRUE(program.Build().ok()) << program.Build().status();
}

INSTANTIATE_TEST_SUITE_P(IntegerRangesTest, AcceptedIndicesTest, ::testing::ValuesIn(kAccepted),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(IntegerRangesTest, TheKernelThatTheTestsLaunchRuns) {
  auto session = MakeSession(GatherProgram());
  Tensor table =
      MakeTensor<float>(DType::kF32, {5, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  ASSERT_TRUE(session->SetVariable("table", table).ok());
  ASSERT_TRUE(session->SetVariable("state", MakeTensor<int64_t>(DType::kI64, {3}, {0, 0, 1})).ok());
  Tensor ids = MakeTensor<int64_t>(DType::kI64, {2, 3}, {4, 4, 4, 2, 0, 4});
  ASSERT_TRUE(session->Run("forward", {{"ids", ids}}).ok());
  EXPECT_THAT(session->Output("forward", "rows")->values<float>(),
              ElementsAre(8, 9, 10, 11, 0, 1, 2, 3, 16, 17, 18, 19));
  EXPECT_THAT(session->Output("forward", "checked_rows")->values<float>(),
              ElementsAre(0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(IntegerRangesTest, ASignatureDoesNotPromiseMoreThanItsCode) {
  ProgramBuilder program = GatherProgram();
  program.executable().kernels[0]->implementations[0]->functions[0]->symbol +=
      format::ToSymbolSuffix(Signature(program.executable()));
  EXPECT_TRUE(program.Build().ok()) << program.Build().status();
  Entry(program.executable()).inputs[0]->bound = 6;
  Signature(program.executable()).operands[1]->ranges = {{0, 5}};
  EXPECT_THAT(Message(program.Build().status()),
              HasSubstr("its code was compiled for (f32[5,4|4,1]%4;i64[3|1]%8{0..4};=f32[3,4|4,1]%4)3, but its "
                        "signature is (f32[5,4|4,1]%4;i64[3|1]%8{0..5};=f32[3,4|4,1]%4)3"));
  Signature(program.executable()).operands[1]->ranges.clear();
  EXPECT_THAT(Message(program.Build().status()), HasSubstr("its code was compiled for"));
}

} // namespace
} // namespace cs336::runtime::integer_ranges_test
