//===- FusionGroups.h - Groups operations into kernels ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONGROUPS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONGROUPS_H

#include "FusionRegions.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace cs336 {

/// The iteration space of a kernel: `shape`, whose last `numReduced` axes are a row; 0 if the kernel has no rows.
struct FusionSpace {
  llvm::SmallVector<int64_t, 4> shape;
  unsigned numReduced = 0;
  /// The axes of the reductions that end the group, if they are other axes than the last.
  llvm::SmallVector<int64_t, 4> closedAxes;

  bool isClosed() const { return !closedAxes.empty(); }
  llvm::ArrayRef<int64_t> getRows() const { return llvm::ArrayRef(shape).drop_back(numReduced); }
  /// Returns the space that covers both, if one kernel can iterate over it.
  static std::optional<FusionSpace> unify(const FusionSpace &lhs, const FusionSpace &rhs);
};

/// Operations of one region, in the block's order.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  FusionSpace space;
  /// Bytes that the group loads and stores, each tensor once.
  int64_t bytes = 0;
  /// Work per element: FLOPs, and at least one per operation.
  int64_t work = 0;
};

/// The reason why two groups are not merged.
enum class FusionBarrier { None, Space, Cycle, Registers, Work, Bytes };

/// Grows groups over the operations of each level: first along values, then over groups that read the same tensor.
class FusionGroups {
public:
  FusionGroups(mlir::Block &block, const FusionRoles &roles, const FusionRegions &regions);

  /// Includes groups of one operation. Merged groups leave empty ones behind.
  llvm::ArrayRef<FusionGroup> getGroups() const { return groups; }
  /// Returns the number of `op`'s group, or nullopt if it is not fusible.
  std::optional<unsigned> find(mlir::Operation *op) const;
  /// Returns the group's values that operations outside the group read, in order.
  llvm::SmallVector<mlir::Value> getOutputs(const FusionGroup &group) const;
  /// A value that one kernel writes and another kernel of the same level reads, with its reader and the reason why the
  /// two kernels are separate.
  struct Missed {
    mlir::Operation *producer, *consumer;
    FusionBarrier barrier;
  };
  llvm::ArrayRef<Missed> getMissed() const { return missed; }

private:
  FusionSpace getSpace(mlir::Operation *op) const;
  FusionSpace getAssemblySpace(mlir::Operation *op) const;
  void fuseAlongValues(llvm::ArrayRef<mlir::Operation *> ops);
  void fuseSiblings(llvm::ArrayRef<mlir::Operation *> ops);
  FusionBarrier tryMerge(unsigned lhs, unsigned rhs);
  bool isInSpace(mlir::OpOperand &use, const FusionSpace &space) const;
  bool hasCycle(unsigned lhs, unsigned rhs) const;
  bool exceedsRegisters(const FusionGroup &group) const;
  int64_t getBytes(const FusionGroup &group) const;

  const FusionRoles &roles;
  const FusionRegions &regions;
  llvm::SmallVector<FusionGroup> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf, positions;
  /// The position of the last operation whose group has other operations.
  unsigned lastGrouped = 0;
  llvm::SmallVector<Missed> missed;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONGROUPS_H
