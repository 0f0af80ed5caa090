//===- GemmPartitionTest.cpp - Parts of GEMMs -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/GemmPartition.h"

#include <gtest/gtest.h>

namespace cs336::runtime::gemm_partition_test {
namespace {

GemmProblem MakeProblem(Dims batch, int64_t m, int64_t n, int64_t k) {
  GemmProblem problem;
  problem.batch = std::move(batch);
  problem.a.rows = problem.c.rows = m;
  problem.b.columns = problem.c.columns = n;
  problem.a.columns = problem.b.rows = k;
  return problem;
}

int64_t CountParts(const GemmProblem &problem, const GemmPartition &partition) {
  int64_t parts = ((problem.c.rows - 1) / partition.rows + 1) * ((problem.c.columns - 1) / partition.columns + 1);
  for (size_t i = 0; i != partition.outer_dims; ++i)
    parts *= problem.batch[i];
  return parts;
}

TEST(GemmPartitionTest, GivesEachThreadAPartOfLargeMatrices) {
  for (int threads : {1, 2, 3, 4, 7, 8, 16, 64}) {
    GemmProblem problem = MakeProblem({}, 2048, 2304, 768);
    EXPECT_EQ(CountParts(problem, PartitionGemm(problem, threads)), threads) << threads;
  }
}

TEST(GemmPartitionTest, SplitsTheLongerSide) {
  GemmPartition wide = PartitionGemm(MakeProblem({}, 64, 4096, 512), 2);
  EXPECT_EQ(wide.rows, 64);
  EXPECT_EQ(wide.columns, 2048);
  GemmPartition tall = PartitionGemm(MakeProblem({}, 4096, 64, 512), 2);
  EXPECT_EQ(tall.rows, 2048);
  EXPECT_EQ(tall.columns, 64);
}

TEST(GemmPartitionTest, LeavesSmallMatricesWhole) {
  GemmProblem problem = MakeProblem({}, 32, 32, 32);
  EXPECT_EQ(CountParts(problem, PartitionGemm(problem, 16)), 1);
  // Also several matrices in one call, along the inner dimensions.
  problem = MakeProblem({4, 8}, 32, 32, 64);
  GemmPartition partition = PartitionGemm(problem, 16);
  EXPECT_EQ(partition.outer_dims, 1u);
  EXPECT_EQ(CountParts(problem, partition), 4);
}

TEST(GemmPartitionTest, DoesNotSplitMatricesOfABatchThatKeepsAllThreadsBusy) {
  GemmProblem problem = MakeProblem({16}, 512, 512, 64);
  EXPECT_EQ(CountParts(problem, PartitionGemm(problem, 8)), 16);
  EXPECT_EQ(CountParts(problem, PartitionGemm(problem, 32)), 32);
}

} // namespace
} // namespace cs336::runtime::gemm_partition_test
