//===- PeerKernelsTest.cpp - The kernel of reductions, interpreted --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerKernels.h"
#include "PeerReductionRun.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <gmock/gmock.h>
#include <tuple>

namespace cs336::runtime::testing {
namespace {

using ::testing::HasSubstr;

/// Bytes of operands: vectors of 16 bytes around the threads of a block and the stages of the ring, and parts of one.
const std::vector<int64_t> kSizes = {16 * 5000, 0, 16, 16 * 79 + 12, 4, 16 * 80, 16 * 512 + 4, 16 * 513 + 8, 0};

/// The type, the reduction and the number of ranks.
class ReduceTextTest : public ::testing::TestWithParam<std::tuple<DType, Reduction, int>> {};

TEST_P(ReduceTextTest, CombinesValuesInOrderOfRanks) {
  auto [dtype, reduction, ranks] = GetParam();
  PeerReductionRun run({dtype, reduction, ranks, /*targets=*/1, kSizes, /*blocks=*/2});
  absl::Status status = run.Run();
  EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(All, ReduceTextTest,
                         ::testing::Combine(::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                                            ::testing::Values(Reduction::kSum, Reduction::kMean, Reduction::kMax,
                                                              Reduction::kMin),
                                            ::testing::Range(2, 9)),
                         [](const auto &info) {
                           return absl::StrCat(ReduceName(std::get<0>(info.param), std::get<1>(info.param)), "_of_",
                                               std::get<2>(info.param));
                         });

TEST(PeerKernelsTest, EveryNumberOfValuesInTheLastVector) {
  for (DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
    for (int64_t bytes = ByteSize(dtype); bytes <= 32; bytes += ByteSize(dtype)) {
      PeerReductionRun run({dtype, Reduction::kSum, /*ranks=*/3, /*targets=*/2, {bytes, bytes}, /*blocks=*/1});
      absl::Status status = run.Run();
      EXPECT_TRUE(status.ok()) << bytes << " bytes: " << status;
    }
}

/// The number of ranks.
class ReduceOperandsTest : public ::testing::TestWithParam<int> {};

TEST_P(ReduceOperandsTest, AnyNumberOfOperandsTargetsAndBlocks) {
  std::vector<int64_t> gains(75, 16 * 80);
  gains.back() = 4;
  for (const std::vector<int64_t> &bytes : {{0}, {4}, {16}, {16 * 5000}, kSizes, gains})
    for (int targets : {1, 2, 3})
      for (uint32_t blocks : {1u, 3u, 10u}) {
        PeerReductionRun run({DType::kF32, Reduction::kMean, GetParam(), targets, bytes, blocks});
        absl::Status status = run.Run();
        EXPECT_TRUE(status.ok()) << bytes.size() << " operands, " << targets << " targets, " << blocks
                                 << " blocks: " << status;
      }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ReduceOperandsTest, ::testing::Range(2, 9), ::testing::PrintToStringParamName());

TEST(PeerKernelsTest, AnAbandonedReductionWritesNothing) {
  PeerReductionRun run({DType::kF32, Reduction::kMean, 2, 1, {1280}, 1});
  run.abandoned = 1;
  EXPECT_THAT(std::string(run.Run().message()), HasSubstr("operand 0: element 0"));
}

/// A change of the text for four ranks, whose ring has 5 stages, and how the run then ends.
struct Fault {
  std::string name, from, to, message;
};

class FaultyTextTest : public ::testing::TestWithParam<Fault> {};

TEST_P(FaultyTextTest, IsDetected) {
  std::string text = ReduceText(DType::kBF16, Reduction::kMean, 4);
  ASSERT_THAT(text, HasSubstr(GetParam().from));
  PeerReductionRun run({DType::kBF16, Reduction::kMean, 4, /*targets=*/2, kSizes, /*blocks=*/1});
  absl::Status status = run.Run(absl::StrReplaceAll(text, {{GetParam().from, GetParam().to}}));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

const Fault kFaults[] = {
    {"AWaitForTooFewStages", "wait_group 5 - 1", "wait_group 5", "is read before its copy is awaited"},
    {"ARingOfOneStageMore", "%threads, 5, %ring", "%threads, 6, %ring", "a copy to shared memory at"},
    {"ARingOfOneStageLess", "%threads, 5, %ring", "%threads, 4, %ring", "which another copy writes"},
    {"RecordsWithoutTargets", "add.u64 %record_bytes, %ranks, %targets", "mov.u64 %record_bytes, %ranks", ""},
    {"PlacesOfOtherThreads", "mad.lo.u32 %ring, %lane, 16, %ring", "mad.lo.u32 %ring, %lane, 0, %ring",
     "a copy to shared memory at"},
    {"AStepOfTwoBlocks", "mul.wide.u32 %step, %block, %threads", "mul.wide.u32 %step, %block, 1024", ""},
    {"HalvesOfAWordSwapped", "cvt.rn.bf16x2.f32 %word2, %sum2_1, %sum2_0", "cvt.rn.bf16x2.f32 %word2, %sum2_0, %sum2_1",
     "operand 0: element 4"},
    {"OnePlaceFurther",
     "  add.u64 %field, %field, 8;\n  ld.global.u64 %address, [%field];\n  cvta.to.global.u64 %address, "
     "%address;\n  add.u64 %address, %address, %offset;\n  st",
     "  ld.global.u64 %address, [%field];\n  cvta.to.global.u64 %address, %address;\n  add.u64 %address, %address, "
     "%offset;\n  add.u64 %field, %field, 8;\n  st",
     ""},
    {"ALastVectorAsAWholeOne", "16, %rest", "16, 16", "outside of all allocations"},
    {"ALastVectorThatIsStoredWhole", "@!%is_whole bra store_rest", "@!%is_whole bra store",
     "outside of all allocations"},
    {"ALastValueThatIsNotStored", "setp.gt.u32 %is_next, %rest, 2;", "setp.gt.u32 %is_next, %rest, 4;", "operand"},
    {"NoLastVector", "add.u64 %add_end, %add_bytes, 15", "mov.u64 %add_end, %add_bytes", ""},
    {"AChunkPerThread", "  mul.wide.u32 %first, %block, %threads;",
     "  mad.lo.u32 %bits, %block, %threads, %lane;\n  cvt.u64.u32 %first, %bits;", "threads part at a uniform step"},
    {"AnUnknownInstruction", "mul.lo.u32", "mul.hi.u32", "no such instruction"},
    {"ARegisterOfAnotherType", "cvt.u64.u32 %thread, %lane", "cvt.u64.u32 %thread, %step", "of another type"},
    {"AnUnknownRegister", "mov.u32 %filled, 0", "mov.u32 %full, 0", "operand '%full'"},
    {"AnUnknownLabel", "bra.uni loaded", "bra.uni nowhere", "no label nowhere"},
    {"ALoopWithoutEnd", "sub.u64 %left, %left, 1", "sub.u64 %left, %left, 0", ""},
};

INSTANTIATE_TEST_SUITE_P(Faults, FaultyTextTest, ::testing::ValuesIn(kFaults),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace cs336::runtime::testing
