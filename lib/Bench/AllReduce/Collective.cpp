//===- Collective.cpp - Collectives that are measured ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/AllReduce/Collective.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace cs336::bench;
using namespace cs336::runtime;

bool cs336::bench::isReducing(Collective collective) {
  return collective == Collective::AllReduce || collective == Collective::ReduceScatter;
}

bool cs336::bench::isInPlace(Collective collective) {
  return collective == Collective::AllReduce || collective == Collective::Broadcast;
}

int64_t CollectiveCase::getSourceCount(int ranks) const {
  return collective == Collective::AllGather ? count / ranks : count;
}

int64_t CollectiveCase::getTargetCount(int ranks) const {
  return collective == Collective::ReduceScatter ? count / ranks : count;
}

double cs336::bench::getBusFactor(Collective collective, int ranks) {
  auto n = static_cast<double>(ranks);
  switch (collective) {
  case Collective::AllReduce:
    return 2 * (n - 1) / n;
  case Collective::Broadcast:
    return 1;
  case Collective::AllGather:
  case Collective::ReduceScatter:
  case Collective::AllToAll:
    return (n - 1) / n;
  }
  llvm_unreachable("every collective has a factor");
}

/// Element i of a rank's operand is (i + rank) modulo this. Sums of such integers are exact in float32 for any group,
/// and the order of ranks does not matter.
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

/// Returns element i of the rank's result.
static double getExpected(const CollectiveCase &one, int64_t i, int rank, int ranks) {
  int64_t part = one.count / ranks;
  switch (one.collective) {
  case Collective::AllReduce:
    return getReduced(ranks, i, one.reduction);
  case Collective::AllGather:
    return getElement(static_cast<int>(i / part), i % part);
  case Collective::ReduceScatter:
    return getReduced(ranks, rank * part + i, one.reduction);
  case Collective::Broadcast:
    return getElement(0, i);
  case Collective::AllToAll:
    return getElement(static_cast<int>(i / part), rank * part + i % part);
  }
  llvm_unreachable("every collective has a result");
}

/// Writes elements whose values `getValue` returns for their positions in a period.
template <typename Function>
static absl::Status fill(Tensor &tensor, int64_t begin, int64_t count, Function getValue) {
  absl::StatusOr<Tensor> values = Tensor::Create({DType::kF32, {kPeriod}});
  if (!values.ok())
    return values.status();
  for (int64_t i = 0; i != kPeriod; ++i)
    values->mutable_values<float>()[i] = static_cast<float>(getValue(i));
  absl::StatusOr<Tensor> period = Cast(*values, tensor.dtype());
  if (!period.ok())
    return period.status();
  int64_t element = ByteSize(tensor.dtype()), size = period->num_bytes();
  char *bytes = static_cast<char *>(tensor.mutable_data()) + begin * element;
  for (int64_t done = 0; done < count * element; done += size)
    std::memcpy(bytes + done, period->data(), std::min(size, count * element - done));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> cs336::bench::makeSource(const CollectiveCase &one, int rank, int ranks) {
  int64_t count = one.getSourceCount(ranks);
  absl::StatusOr<Tensor> source = Tensor::Create({one.dtype, {count}});
  if (!source.ok())
    return source.status();
  if (absl::Status status = fill(*source, 0, count, [&](int64_t i) { return getElement(rank, i); }); !status.ok())
    return status;
  return source;
}

/// Counts means that are not within one unit in the last place: NCCL divides before it adds.
static absl::StatusOr<int64_t> countWrongMeans(const Tensor &result, const Tensor &expected) {
  double unit = result.dtype() == DType::kBF16 ? 0x1p-7 : result.dtype() == DType::kF16 ? 0x1p-10 : 0x1p-23;
  absl::StatusOr<Tensor> actual = Cast(result, DType::kF32), right = Cast(expected, DType::kF32);
  if (!actual.ok() || !right.ok())
    return actual.ok() ? right.status() : actual.status();
  int64_t wrong = 0;
  for (int64_t i = 0; i != expected.num_elements(); ++i) {
    float is = actual->values<float>()[i], should = right->values<float>()[i];
    wrong += !(std::abs(is - should) <= unit * should); // NaN is wrong.
  }
  return wrong;
}

absl::StatusOr<int64_t> cs336::bench::countWrong(const CollectiveCase &one, const Tensor &result, int rank, int ranks) {
  int64_t count = one.getTargetCount(ranks), element = ByteSize(one.dtype), wrong = 0;
  absl::StatusOr<Tensor> expected = Tensor::Create({one.dtype, {count}});
  if (!expected.ok())
    return expected.status();
  // The values of each rank's part have the period, and so do those of a reduction.
  bool hasParts = one.collective == Collective::AllGather || one.collective == Collective::AllToAll;
  int64_t size = hasParts ? count / ranks : count;
  for (int64_t begin = 0; begin < count; begin += size)
    if (absl::Status status =
            fill(*expected, begin, size, [&](int64_t i) { return getExpected(one, begin + i, rank, ranks); });
        !status.ok())
      return status;
  if (isReducing(one.collective) && one.reduction == Reduction::kMean)
    return countWrongMeans(result, *expected);
  const char *actual = static_cast<const char *>(result.data()), *right = static_cast<const char *>(expected->data());
  for (int64_t i = 0; i != count; ++i)
    wrong += std::memcmp(actual + i * element, right + i * element, element) != 0;
  return wrong;
}
