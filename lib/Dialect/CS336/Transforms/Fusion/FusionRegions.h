//===- FusionRegions.h - Which operations may share a kernel -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONREGIONS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONREGIONS_H

#include "FusionRoles.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace cs336 {

/// Divides a block into regions: operations of different regions never share a kernel.
///
/// A level counts the kernels that cannot be fused (products, closed reductions) on the longest way to an operation:
/// what such a kernel separates has different levels, so fusing within a level makes no cycle through one. A
/// `cs336.barrier` is above all that stands before it. Each level is a region, and so is each closed reduction with
/// what only it reads. A pointwise value that another region reads is computed again there where that moves fewer bytes
/// than storing it.
class FusionRegions {
public:
  FusionRegions(mlir::Block &block, FusionRoles &roles);

  unsigned getNumLevels() const { return numLevels; }
  unsigned getLevel(mlir::Operation *op) const { return levels.lookup(op); }
  /// Of a fusible operation.
  unsigned getRegion(mlir::Operation *op) const { return regions.lookup(op); }
  /// Copies made, to be computed in another region.
  unsigned getNumRecomputed() const { return numRecomputed; }

private:
  /// Where a value is needed: in regions, or in memory by what is not fusible.
  struct Demand {
    llvm::SmallSetVector<unsigned, 4> regions;
    bool isStored = false;
  };

  void splitBroadcasts(mlir::Block &block);
  void computeLevels(mlir::Block &block);
  /// The region that reads `use` in a register if it computes the value, or none.
  std::optional<unsigned> getRegionOf(mlir::OpOperand &use) const;
  Demand getDemand(mlir::Value value) const;
  /// Puts `op` into `region`.
  void assign(mlir::Operation *op, unsigned region);
  bool isAtHand(mlir::Value value, unsigned region) const;
  /// Bytes that `region` reads, or others write for it, to have `value`.
  int64_t getReadBytes(mlir::Value value, unsigned region, unsigned depth) const;
  int64_t getOperandBytes(mlir::Operation *op, unsigned region, unsigned depth) const;
  void place(mlir::Operation *op);
  void recompute(mlir::Operation *op, unsigned region);

  FusionRoles &roles;
  llvm::DenseMap<mlir::Operation *, unsigned> levels, regions;
  llvm::SmallVector<unsigned> levelOfRegion;
  /// Of each region, what its operations read.
  llvm::SmallVector<llvm::DenseSet<mlir::Value>> reads;
  /// Regions below this are levels.
  unsigned numLevels = 0;
  unsigned numRecomputed = 0;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONREGIONS_H
