//===- AllReduceBenchmark.cpp - Times of all-reduces ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/AllReduce/AllReduceBenchmark.h"

#include "cs336/runtime/Tensor.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

using namespace cs336;
using namespace cs336::bench;
using namespace cs336::runtime;

using Clock = std::chrono::steady_clock;

static double getMilliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Blocks repeat this many elements: element i of a rank's block is (i + rank) modulo it. Sums of such integers are
/// exact in float32 for any group, and the order of ranks does not matter.
static constexpr int64_t kPeriod = 3;

static double getElement(int rank, int64_t i) { return static_cast<double>((i + rank) % kPeriod); }

static float getReduced(int ranks, int64_t i, Reduction reduction) {
  double sum = 0, greatest = getElement(0, i), least = greatest;
  for (int rank = 0; rank != ranks; ++rank) {
    double value = getElement(rank, i);
    sum += value;
    greatest = std::max(greatest, value);
    least = std::min(least, value);
  }
  switch (reduction) {
  case Reduction::kSum:
    return static_cast<float>(sum);
  case Reduction::kMean:
    return static_cast<float>(sum) / static_cast<float>(ranks);
  case Reduction::kMax:
    return static_cast<float>(greatest);
  case Reduction::kMin:
    return static_cast<float>(least);
  }
  llvm_unreachable("every reduction has a case");
}

/// Returns the bytes of one period, whose elements `getValue` returns.
template <typename Function>
static absl::StatusOr<Tensor> makePeriod(DType dtype, Function getValue) {
  absl::StatusOr<Tensor> period = Tensor::Create({DType::kF32, {kPeriod}});
  if (!period.ok())
    return period.status();
  for (int64_t i = 0; i != kPeriod; ++i)
    period->mutable_values<float>()[i] = static_cast<float>(getValue(i));
  return Cast(*period, dtype);
}

/// Writes the elements of a rank's block.
static absl::Status fill(Tensor &block, int rank) {
  absl::StatusOr<Tensor> period = makePeriod(block.dtype(), [&](int64_t i) { return getElement(rank, i); });
  if (!period.ok())
    return period.status();
  char *bytes = static_cast<char *>(block.mutable_data());
  int64_t size = period->num_bytes();
  for (int64_t begin = 0; begin < block.num_bytes(); begin += size)
    std::memcpy(bytes + begin, period->data(), std::min(size, block.num_bytes() - begin));
  return absl::OkStatus();
}

/// Returns the number of elements that are not those of the reduced blocks.
static absl::StatusOr<int64_t> countWrong(const Tensor &block, int ranks, Reduction reduction) {
  absl::StatusOr<Tensor> period = makePeriod(block.dtype(), [&](int64_t i) { return getReduced(ranks, i, reduction); });
  if (!period.ok())
    return period.status();
  int64_t size = ByteSize(block.dtype()), wrong = 0;
  const char *bytes = static_cast<const char *>(block.data()), *expected = static_cast<const char *>(period->data());
  for (int64_t i = 0; i != block.num_elements(); ++i)
    wrong += std::memcmp(bytes + i * size, expected + i % kPeriod * size, size) != 0;
  return wrong;
}

/// Measures one size, type and reduction on one rank.
static absl::StatusOr<AllReduceTimes> measureOne(Communicator &communicator, int64_t count, DType dtype,
                                                 Reduction reduction, const AllReducePlan &plan) {
  absl::StatusOr<Tensor> block = Tensor::Create({dtype, {count}});
  if (!block.ok())
    return block.status();
  auto reduce = [&] { return communicator.AllReduce(block->data(), block->mutable_data(), count, dtype, reduction); };
  if (absl::Status status = fill(*block, communicator.rank()); !status.ok())
    return status;
  if (absl::Status status = reduce(); !status.ok())
    return status;
  absl::StatusOr<int64_t> wrong = countWrong(*block, communicator.size(), reduction);
  if (!wrong.ok())
    return wrong.status();
  AllReduceTimes result{count, dtype, reduction, {}, *wrong};
  if (absl::Status status = communicator.AllReduce(&result.wrong, &result.wrong, 1, DType::kI64, Reduction::kSum);
      !status.ok())
    return status;
  for (int64_t step = -plan.warmup; step != plan.steps; ++step) {
    Clock::time_point begin = Clock::now();
    if (absl::Status status = reduce(); !status.ok())
      return status;
    if (step >= 0 && communicator.rank() == 0)
      result.milliseconds.push_back(getMilliseconds(begin));
  }
  return result;
}

absl::StatusOr<std::vector<AllReduceTimes>> bench::measureAllReduces(Communicator &communicator,
                                                                     const AllReducePlan &plan) {
  std::vector<AllReduceTimes> results;
  for (DType dtype : plan.dtypes)
    for (Reduction reduction : plan.reductions)
      for (int64_t bytes : plan.sizes) {
        int64_t count = std::max<int64_t>(1, bytes / ByteSize(dtype));
        absl::StatusOr<AllReduceTimes> result = measureOne(communicator, count, dtype, reduction, plan);
        if (!result.ok())
          return result.status();
        results.push_back(*std::move(result));
      }
  return results;
}

absl::StatusOr<std::vector<AllReduceTimes>> bench::measureOnThreads(int ranks, absl::Duration timeout,
                                                                    const AllReducePlan &plan, double &startup) {
  Clock::time_point begin = Clock::now();
  std::vector<std::unique_ptr<Communicator>> group = CreateInProcessGroup(ranks, timeout);
  startup = getMilliseconds(begin);
  std::vector<absl::StatusOr<std::vector<AllReduceTimes>>> results(ranks, absl::UnknownError("not run"));
  std::vector<std::thread> threads;
  for (int rank = 0; rank != ranks; ++rank)
    threads.emplace_back([&, rank] {
      results[rank] = measureAllReduces(*group[rank], plan);
      group[rank].reset(); // A rank that failed ends those that wait for it.
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &result : results)
    if (!result.ok())
      return result.status();
  return std::move(results.front());
}
