//===- ParallelCellsTest.cpp - The cells of a sweep on several threads ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/ParallelCells.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace cs336::bench::parallel_cells_test {

TEST(ParallelCellsTest, EachCellRunsOnceAndBeginsInOrder) {
  for (size_t threads : {1, 2, 5, 100}) {
    std::vector<std::atomic<int>> runs(40);
    std::vector<size_t> begun, expected(runs.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::atomic<size_t> running = 0, most = 0;
    absl::Status status = forEachCell(
        runs.size(), threads, [&](size_t index) { begun.push_back(index); },
        [&](size_t index) {
          size_t now = ++running, before = most;
          while (before < now && !most.compare_exchange_weak(before, now))
            ;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          --running;
          ++runs[index];
          return absl::OkStatus();
        });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(begun, expected);
    EXPECT_LE(most, threads);
    for (const std::atomic<int> &count : runs)
      EXPECT_EQ(count, 1);
  }
  auto fail = [](size_t) { return absl::InternalError("no cell"); };
  EXPECT_TRUE(forEachCell(0, 4, [](size_t) {}, fail).ok());
}

TEST(ParallelCellsTest, CellsRunAtTheSameTime) {
  // Each cell waits for the other.
  std::atomic<int> arrived = 0;
  absl::Status status = forEachCell(
      2, 2, [](size_t) {},
      [&](size_t) {
        ++arrived;
        auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (arrived < 2 && std::chrono::steady_clock::now() < deadline)
          std::this_thread::yield();
        return arrived == 2 ? absl::OkStatus() : absl::DeadlineExceededError("the other cell did not begin");
      });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ParallelCellsTest, TheFirstErrorInOrderIsReturned) {
  for (size_t threads : {1, 3}) {
    std::vector<std::atomic<bool>> complete(200);
    size_t begun = 0;
    absl::Status status = forEachCell(
        complete.size(), threads, [&](size_t) { ++begun; },
        [&](size_t index) {
          // A later cell fails before an earlier one. The cells after them leave the system seconds in which the
          // threads of both cells can return their errors.
          if (index == 6 || index > 7)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          if (index == 6 || index == 7)
            return absl::InternalError(std::to_string(index));
          complete[index] = true;
          return absl::OkStatus();
        });
    EXPECT_EQ(status.message(), "6");
    for (size_t index = 0; index < 6; ++index)
      EXPECT_TRUE(complete[index]) << index;
    if (threads == 1)
      EXPECT_EQ(begun, 7u);
    else
      EXPECT_LT(begun, complete.size());
  }
}

} // namespace cs336::bench::parallel_cells_test
