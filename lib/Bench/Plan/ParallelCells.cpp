//===- ParallelCells.cpp - The cells of a sweep on several threads --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/ParallelCells.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

using namespace cs336;

absl::Status bench::forEachCell(size_t count, size_t threads, llvm::function_ref<void(size_t)> begin,
                                llvm::function_ref<absl::Status(size_t)> work) {
  std::mutex mutex;
  size_t next = 0, firstFailed = count;
  absl::Status failure;
  auto run = [&] {
    std::unique_lock lock(mutex);
    while (next < count && firstFailed == count) {
      size_t index = next++;
      begin(index);
      lock.unlock();
      absl::Status status = work(index);
      lock.lock();
      if (!status.ok() && index < firstFailed) {
        firstFailed = index;
        failure = std::move(status);
      }
    }
  };
  std::vector<std::thread> others;
  for (size_t thread = 1; thread < std::min(threads, count); ++thread)
    others.emplace_back(run);
  run();
  for (std::thread &other : others)
    other.join();
  return failure;
}
