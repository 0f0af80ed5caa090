//===- FusionRegions.h - Regions of operations that may share kernels -*- C++ -*-===//
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
/// A level counts the kernels that cannot be fused (matmuls, closed reductions) on the longest path to an operation.
/// Operations before and after such a kernel have different levels, so fusing within a level creates no cycle through
/// it. A `cs336.barrier` is above all operations before it. Each level is a region, and so is each closed reduction
/// together with the operations that only it reads. An element-wise value that another region reads is computed again
/// there if that moves fewer bytes than storing it.
class FusionRegions {
public:
  FusionRegions(mlir::Block &block, FusionRoles &roles);

  unsigned getNumLevels() const { return numLevels; }
  unsigned getLevel(mlir::Operation *op) const { return levels.lookup(op); }
  /// Returns the region of a fusible operation.
  unsigned getRegion(mlir::Operation *op) const { return regions.lookup(op); }
  /// Returns the number of copies made for other regions.
  unsigned getNumRecomputed() const { return numRecomputed; }

private:
  /// The places that need a value: regions, or memory for operations that are not fusible.
  struct Demand {
    llvm::SmallSetVector<unsigned, 4> regions;
    bool isStored = false;
  };

  void splitBroadcasts(mlir::Block &block);
  void computeLevels(mlir::Block &block);
  /// Returns the region that reads `use` in a register if it computes the value, or nullopt.
  std::optional<unsigned> getRegionOf(mlir::OpOperand &use) const;
  Demand getDemand(mlir::Value value) const;
  /// Puts `op` into `region`.
  void assign(mlir::Operation *op, unsigned region);
  bool isAtHand(mlir::Value value, unsigned region) const;
  /// Returns the bytes that `region` reads, or that others write for it, to get `value`.
  int64_t getReadBytes(mlir::Value value, unsigned region, unsigned depth) const;
  int64_t getOperandBytes(mlir::Operation *op, unsigned region, unsigned depth) const;
  void place(mlir::Operation *op);
  bool isBefore(mlir::Operation *lhs, mlir::Operation *rhs) const;
  void recompute(mlir::Operation *op, unsigned region);

  FusionRoles &roles;
  llvm::DenseMap<mlir::Operation *, unsigned> levels, regions;
  /// The positions of operations in the block. Copies have those of the operations before which they were inserted.
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::SmallVector<unsigned> levelOfRegion;
  /// Per region, the values that its operations read.
  llvm::SmallVector<llvm::DenseSet<mlir::Value>> reads;
  /// Regions with smaller numbers are levels.
  unsigned numLevels = 0;
  unsigned numRecomputed = 0;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONREGIONS_H
