//===- Distributor.h - Means of gradients over ranks ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_DISTRIBUTOR_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_DISTRIBUTOR_H

#include "PartExchange.h"
#include "cs336/Cost/DeviceModel.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/Transforms/OptionParsers.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/ADT/StringSet.h"

namespace cs336 {

inline constexpr RemarkOptions distributeRemarks("cs336-distribute");

/// The options of the pass.
struct Distribution {
  int64_t worldSize;
  DistributeMode mode;
  BucketSize bucketSize;
  /// The device that BucketSize::isAutomatic is for.
  const DeviceModel &device;
  /// The most bytes of factors that a rank sends in place of each byte of a gradient; 0 for none.
  double factors;
  /// The parameters whose gradients are scattered.
  llvm::StringSet<> scattered;
};

/// Averages the gradients and the loss of a function over ranks.
class Distributor {
public:
  /// A value to exchange, and the results that it becomes, as positions in the return operation.
  struct Member {
    mlir::Value value;
    std::string name;
    llvm::SmallVector<unsigned, 1> results;
    /// True if each rank gets its part of the mean, for its part of a parameter. Otherwise all ranks get the whole.
    bool isScattered = false;
    bool isGradient = false;
  };

  /// The values that one collective exchanges.
  using Bucket = llvm::SmallVector<Member *>;

  static constexpr double kMiB = 1 << 20;
  /// Bytes of the largest bucket of several gradients, unless a size is given. Two H200s exchange so many bytes with 98
  /// % of the bandwidth of 1 GiB, so that larger buckets only end later (docs/Rationale/RanksOnGPUs.md).
  static constexpr int64_t kMostBucketBytes = int64_t{256} << 20;
  /// MiB of the smallest bucket, unless a size is given.
  static constexpr double kLeastBucketMiB = 25;

  Distributor(mlir::func::FuncOp function, const Distribution &distribution)
      : function(function), distribution(distribution), terminator(function.getBody().front().getTerminator()) {}

  /// Creates the collectives, and replaces the results by what they bring.
  void run();

  int64_t numCollectives = 0, numScatters = 0, numFactored = 0, numAdded = 0;
  /// Bytes of all scattered gradients, of which each rank gets its part.
  int64_t scatteredBytes = 0;
  int64_t numExchanged() const { return members.size() + numFactored + numAdded; }

private:
  void collectMembers();
  bool isScattered(mlir::DictionaryAttr port) const {
    return getPortKind(port) == port::kGradient && distribution.scattered.contains(getPortName(port));
  }
  mlir::RankedTensorType getPartType(mlir::RankedTensorType whole) const;
  bool replaceSplat(unsigned index, ConstantOp constant);
  static int64_t getBytes(const Bucket &bucket);
  static CollectiveKind getKind(const Bucket &bucket) {
    return bucket.front()->isScattered ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
  }
  /// Returns whether `a` is computed before `b`.
  static bool isReadyBefore(const Member *a, const Member *b);
  bool hasBuckets() const {
    return distribution.mode == DistributeMode::Bucket || distribution.mode == DistributeMode::Zero1 ||
           distribution.mode == DistributeMode::FSDP;
  }
  double getBucketBytes(int64_t bytes) const;
  double getBucketBytes();
  double predictBucketBytes(int64_t gradientBytes);
  llvm::SmallVector<Bucket> chooseBuckets(bool scattered, double bucketBytes);
  bool waitsForAllGradients() const {
    return distribution.mode == DistributeMode::PerParameter || distribution.mode == DistributeMode::Flat;
  }
  std::string nameBucket(const Bucket &bucket) const;
  void exchange(const Bucket &bucket);
  void describe(const Bucket &bucket, llvm::StringRef name, mlir::Location loc);
  void exchangePartsOf(const Bucket &bucket, PartsOf partsOf);
  bool canUseFactors() const;
  bool hasFactorsToExchange(const Member &member) const;
  bool replacesReductions() const;
  void exchangeFactors();
  void gatherMatrices();
  llvm::SmallVector<Member> takeMembers(llvm::function_ref<bool(const Member &)> predicate);
  void replaceResults(const Member &member, mlir::Value value, mlir::OpBuilder &builder, double factor = 1);
  void setResultTypes();

  mlir::func::FuncOp function;
  const Distribution &distribution;
  mlir::Operation *terminator;
  llvm::SmallVector<Member> members;
  /// The last exchange of parts or sums, or null. Reductions follow it, because they wait for multiprocessors.
  mlir::Operation *lastParts = nullptr;
};

/// Returns a text such as "4.883 MiB".
std::string formatMiB(int64_t bytes);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_DISTRIBUTOR_H
