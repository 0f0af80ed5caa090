//===- WarpgroupPlan.h - Functions of attention on sm_90a -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_WARPGROUPPLAN_H
#define CS336_LIB_TARGET_CUDA_WARPGROUPPLAN_H

#include "AttentionProblem.h"
#include "WarpgroupGradientTiles.h"

namespace cs336::cuda {

/// The tile sizes of all functions of a kernel of the schedule `warpgroup_attention`:
///
///     {forward = {…}}                            attention
///     {passes = 2, queries = {…}, keys = {…}}    its gradient: a function for dQ, then one for dK and dV
///     {passes = 1, sums = {…}}                   its gradient: all sums in one function
///
/// The inner parameters are those of WarpgroupTiles and WarpgroupGradientTiles.
class WarpgroupPlan {
public:
  /// Returns the plan with these parameters, some or all of those of `getParameters`; the others are the fastest known
  /// ones. `parameters` are null if nothing is selected. Fails if they are not legal; `whyNot` then completes the
  /// sentence "it …".
  static mlir::FailureOr<WarpgroupPlan> select(const AttentionProblem &problem, const TargetDescription &target,
                                               mlir::DictionaryAttr parameters, std::string &whyNot);
  /// Returns other parameters that are worth timing, the most promising ones first.
  llvm::SmallVector<mlir::DictionaryAttr> listVariants(const AttentionProblem &problem,
                                                       const TargetDescription &target) const;
  mlir::DictionaryAttr getParameters(mlir::MLIRContext *context) const;

  /// The function of attention, or those for dQ and for dK and dV; empty for a gradient in one pass.
  llvm::ArrayRef<WarpgroupTiles> getTiles() const { return tiles; }
  /// The functions of a gradient in one pass; null for other kernels.
  const WarpgroupGradientTiles *getSums() const { return sums ? &*sums : nullptr; }

private:
  llvm::SmallVector<WarpgroupTiles, 2> tiles;
  std::optional<WarpgroupGradientTiles> sums;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_WARPGROUPPLAN_H
