//===- CollectiveTest.cpp - Tests of measured collectives -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/AllReduce/AllReduceCommand.h"
#include "cs336/Bench/AllReduce/CollectiveProgram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace cs336::bench::collective_test {
using runtime::DType;
using runtime::Reduction;
using runtime::Tensor;
using ::testing::HasSubstr;
using ::testing::Not;

size_t count(llvm::StringRef text, llvm::StringRef part) { return text.count(part); }

TEST(CollectiveProgramTest, TimedEntriesAreChains) {
  CollectiveCase one{Collective::AllReduce, DType::kBF16, Reduction::kMean, 64};
  std::string text = printCollectiveProgram(one, {3}, /*ranks=*/4);
  std::string line = "exec.collective all_reduce mean ins(%source : memref<64xbf16>) outs(%source : memref<64xbf16>) "
                     "group = 4";
  EXPECT_EQ(count(text, line), 4u);
  EXPECT_THAT(text, HasSubstr("exec.variable @source0 state : memref<64xbf16>"));
  EXPECT_THAT(text, Not(HasSubstr("target")));
}

TEST(PeerCasesTest, BackendsOnGPUsShareThePeersRows) {
  CollectiveCase first{Collective::AllReduce, DType::kF32, Reduction::kSum, 64}, second = first;
  second.count = 128;
  auto makeRow = [](Backend backend, int ranks, const CollectiveCase &one, std::string peer) {
    return AllReduceRow{backend, ranks, 0, {one, {1.0}}, std::move(peer)};
  };
  std::vector<AllReduceRow> rows{makeRow(Backend::NCCL, 2, first, ""), makeRow(Backend::NCCL, 2, first, "plain")};
  std::vector<AllReduceRow> own{makeRow(Backend::Peers, 2, first, ""), makeRow(Backend::Peers, 2, second, "")};
  EXPECT_THAT(listPeerCases("plain", own, rows), testing::ElementsAre(second));
  EXPECT_THAT(listPeerCases("graph", own, rows), testing::ElementsAre(first, second));
  // Another number of ranks, and processes without GPUs, are other measurements.
  EXPECT_THAT(listPeerCases("plain", {makeRow(Backend::Peers, 4, first, "")}, rows), testing::ElementsAre(first));
  EXPECT_THAT(listPeerCases("plain", {makeRow(Backend::Tcp, 2, first, "")}, rows), testing::ElementsAre(first));
}

TEST(PeerCasesTest, PyTorchIsComparedWithTheFastestBackendOfGPUs) {
  CollectiveCase one{Collective::AllReduce, DType::kF32, Reduction::kSum, 256};
  auto makeRow = [&](Backend backend, double milliseconds, std::string peer) {
    return AllReduceRow{backend, 2, 0, {one, {milliseconds}, 0}, std::move(peer)};
  };
  std::vector<AllReduceRow> rows{makeRow(Backend::NCCL, 2, ""), makeRow(Backend::NCCL, 3, "plain"),
                                 makeRow(Backend::Peers, 1, ""), makeRow(Backend::Threads, 0.5, ""),
                                 makeRow(Backend::Tcp, 4, "plain")};
  EXPECT_EQ(findCompared(rows[1], rows), &rows[2]);
  EXPECT_EQ(findCompared(rows[0], rows), nullptr);
  EXPECT_EQ(findCompared(rows[4], rows), nullptr);
}

TEST(CollectiveProgramTest, PartsAreOnOneSide) {
  std::vector<CollectiveCase> cases{{Collective::AllGather, DType::kF32, Reduction::kSum, 64},
                                    {Collective::ReduceScatter, DType::kF32, Reduction::kMax, 64}};
  std::string text = printCollectiveProgram(cases, {1, 1}, /*ranks=*/4);
  EXPECT_THAT(text, HasSubstr("all_gather ins(%source : memref<16xf32>) outs(%target : memref<64xf32>) group = 4"));
  EXPECT_THAT(text,
              HasSubstr("reduce_scatter max ins(%source : memref<64xf32>) outs(%target : memref<16xf32>) group = 4"));
}

TEST(CollectiveProgramTest, ProgramsCompileForEveryTarget) {
  std::vector<CollectiveCase> cases;
  for (Collective collective : {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
                                Collective::Broadcast, Collective::AllToAll})
    cases.push_back({collective, DType::kF16, Reduction::kSum, 24});
  for (Target target : {Target::CPU, Target::CUDA}) {
    auto executable = compileCollectives(cases, std::vector<int64_t>(cases.size(), 10), /*ranks=*/3, target);
    ASSERT_TRUE(executable.ok()) << executable.status();
    EXPECT_EQ((*executable)->description().world_size, 3);
    const format::EntryT *entry = (*executable)->FindEntry(getTimeEntry(4));
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->commands.size(), 10u);
  }
}

TEST(CollectiveTest, EachWrongElementCounts) {
  CollectiveCase one{Collective::AllReduce, DType::kF32, Reduction::kSum, 10};
  absl::StatusOr<Tensor> result = makeSource(one, 0, 2);
  ASSERT_TRUE(result.ok());
  for (int64_t i = 0; i != 10; ++i) // (i mod 3) + ((i + 1) mod 3)
    result->mutable_values<float>()[i] = static_cast<float>(i % 3 + (i + 1) % 3);
  EXPECT_EQ(*countWrong(one, *result, 0, 2), 0);
  result->mutable_values<float>()[4] += 1;
  result->mutable_values<float>()[9] = 17;
  EXPECT_EQ(*countWrong(one, *result, 0, 2), 2);
}

TEST(CollectiveTest, MeansMayBeOffByOneUnit) {
  CollectiveCase one{Collective::AllReduce, DType::kF32, Reduction::kMean, 1};
  absl::StatusOr<Tensor> result = Tensor::Create({DType::kF32, {1}});
  ASSERT_TRUE(result.ok());
  float &value = result->mutable_values<float>()[0];
  value = 6.0F / 7; // Ranks 0 to 6 have 0, 1, 2, 0, 1, 2, 0.
  EXPECT_EQ(*countWrong(one, *result, 0, 7), 0);
  value = std::nextafter(value, 1.0F);
  EXPECT_EQ(*countWrong(one, *result, 0, 7), 0);
  value = 6.001F / 7;
  EXPECT_EQ(*countWrong(one, *result, 0, 7), 1);
  value = std::nanf("");
  EXPECT_EQ(*countWrong(one, *result, 0, 7), 1);
}

TEST(CollectiveTest, BusFactorsAreThoseOfNcclTests) {
  EXPECT_EQ(getBusFactor(Collective::AllReduce, 4), 1.5);
  EXPECT_EQ(getBusFactor(Collective::AllGather, 4), 0.75);
  EXPECT_EQ(getBusFactor(Collective::ReduceScatter, 4), 0.75);
  EXPECT_EQ(getBusFactor(Collective::AllToAll, 4), 0.75);
  EXPECT_EQ(getBusFactor(Collective::Broadcast, 4), 1);
}

TEST(CollectiveTest, ThreadsMeasureEveryCase) {
  AllReducePlan plan{{Collective::AllToAll, Collective::ReduceScatter},
                     {1000, 1},
                     {DType::kBF16},
                     {Reduction::kSum, Reduction::kMax},
                     1,
                     2};
  double startup = 0;
  absl::StatusOr<std::vector<AllReduceTimes>> results = measureOnThreads(3, absl::Seconds(30), plan, startup);
  ASSERT_TRUE(results.ok()) << results.status();
  std::vector<int64_t> counts;
  for (const AllReduceTimes &times : *results) {
    counts.push_back(times.one.count);
    EXPECT_EQ(times.wrong, 0);
    EXPECT_EQ(times.milliseconds.size(), 2u);
  }
  // All-to-all has no reduction; the smallest block has an element per rank.
  EXPECT_THAT(counts, ::testing::ElementsAre(498, 3, 498, 3, 498, 3));
  EXPECT_GT(startup, 0);
}

} // namespace cs336::bench::collective_test
