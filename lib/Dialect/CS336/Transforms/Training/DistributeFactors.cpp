//===- DistributeFactors.cpp - Factors in place of gradients --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the distributor that replaces gradients by sums over the factors of all ranks.
//
//===----------------------------------------------------------------------===//

#include "Distributor.h"
#include "FactorExchange.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Collectives.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace cs336;

/// Buckets of factors that are exchanged between those of a gradient and its matmul. In mode fsdp the backward pass
/// also waits for parameters, and steps with a longer lead are slower (docs/Rationale/FactorsOfGradients.md).
static constexpr size_t kLead = 4, kLeadOfFSDP = 2;

/// Returns whether updates can follow the gradients one by one, so that one kernel can compute a gradient and apply it.
/// Updates that clip gradients wait for the norm of all of them.
bool Distributor::canUseFactors() const {
  auto optimizer = function->getAttrOfType<OptimizerAttr>(CS336Dialect::kOptimizerAttr);
  return distribution.factors > 0 && getMode(function) == Mode::Train && !(optimizer && optimizer.getMaxNorm() > 0);
}

bool Distributor::hasFactorsToExchange(const Member &member) const {
  bool isGathered = distribution.mode == DistributeMode::Bucket && member.isGradient &&
                    tensorType(member.value).getDimSize(0) % distribution.worldSize == 0;
  return hasFactors(member.value) && (member.isScattered || isGathered) &&
         getFactorRatio(member.value.getDefiningOp<MatmulOp>(), distribution.worldSize) <= distribution.factors;
}

/// Returns whether the sums of factors take the place of most reductions in mode bucket. Otherwise the kernels of
/// updates and of reductions would wait for each other.
bool Distributor::replacesReductions() const {
  constexpr double kLeastShare = 0.9;
  int64_t exchanged = 0, all = 0;
  for (const Member &member : members) {
    if (!member.isGradient || !hasFactors(member.value))
      continue;
    all += getTensorBytes(member.value);
    exchanged += hasFactorsToExchange(member) ? getTensorBytes(member.value) : 0;
  }
  return static_cast<double>(exchanged) >= kLeastShare * static_cast<double>(all);
}

/// Exchanges factors in place of gradients where ranks send few enough bytes.
void Distributor::exchangeFactors() {
  bool gathers = distribution.mode == DistributeMode::Bucket;
  if (!canUseFactors() || (gathers && !replacesReductions()))
    return;
  SmallVector<Member> factored = takeMembers([&](const Member &member) { return hasFactorsToExchange(member); });
  if (factored.empty())
    return;
  llvm::stable_sort(factored, [](const Member &a, const Member &b) { return isReadyBefore(&a, &b); });
  auto gradients =
      llvm::map_to_vector(factored, [](const Member &member) { return member.value.getDefiningOp<MatmulOp>(); });

  BucketSize size = distribution.bucketSize;
  FactorExchange exchange(distribution.worldSize, kMiB * (size.isGiven() ? size.mib : kLeastBucketMiB),
                          distribution.mode == DistributeMode::FSDP ? kLeadOfFSDP : kLead);
  SmallVector<Value> sums = exchange.build(gradients);
  CollectiveKind replaced = gathers ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter;
  int64_t replacedBytes = 0, gradientBytes = 0;
  for (MatmulOp gradient : gradients) {
    gradientBytes += getTensorBytes(gradient.getResult());
    replacedBytes += getRingBytes(replaced, distribution.worldSize, getTensorBytes(gradient.getResult()));
  }
  if (gathers) {
    gatherMatrices();
    sums = exchange.gather(sums, getBucketBytes(gradientBytes), lastParts);
    lastParts = sums.back().getDefiningOp();
  }
  OpBuilder builder(terminator);
  for (auto [member, sum] : llvm::zip_equal(factored, sums)) {
    builder.setInsertionPointAfterValue(sum);
    replaceResults(member, sum, builder, 1.0 / static_cast<double>(distribution.worldSize));
  }
  for (MatmulOp gradient : gradients)
    if (isOpTriviallyDead(gradient))
      gradient.erase();
  numCollectives += exchange.numCollectives;
  numFactored = factored.size();
  remark::passed(function.getLoc(), distributeRemarks("Factored")) << remark::add(
      "@{0}: {1} gradients are computed from the factors of all ranks: each rank sends {2}, and {3} of gradients "
      "otherwise",
      function.getName(), numFactored, formatMiB(exchange.sentBytes), formatMiB(replacedBytes));
}

/// Gathers the gradients of matrices that have no factors to exchange, if they are small. The updates add those of all
/// ranks. A reduction would wait for multiprocessors, which the kernels of updates occupy.
void Distributor::gatherMatrices() {
  auto isMatrix = [](const Member &member) {
    return member.isGradient && !member.isScattered && tensorType(member.value).getRank() >= 2;
  };
  int64_t bytes = 0;
  for (const Member &member : members)
    bytes += isMatrix(member) ? getTensorBytes(member.value) : 0;
  if (bytes * distribution.worldSize > kMostBucketBytes)
    return;
  SmallVector<Member> matrices = takeMembers(isMatrix);
  llvm::stable_sort(matrices, [](const Member &a, const Member &b) { return isReadyBefore(&a, &b); });
  for (Member &matrix : matrices)
    exchangePartsOf({&matrix}, PartsOf::AllRows);
  numAdded = matrices.size();
}
