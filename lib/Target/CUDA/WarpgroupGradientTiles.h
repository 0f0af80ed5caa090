//===- WarpgroupGradientTiles.h - The gradient in one pass ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_WARPGROUPGRADIENTTILES_H
#define CS336_LIB_TARGET_CUDA_WARPGROUPGRADIENTTILES_H

#include "WarpgroupTiles.h"

namespace cs336::cuda {

/// The tile sizes of the gradient of attention in one pass over the scores, and numbers that depend on them;
/// runtime/kernels/warpgroup_gradient_*.cuh compute the same numbers. Three functions run: the first computes what all
/// blocks need, the second sums all gradients, and the third rounds dQ.
class WarpgroupGradientTiles {
public:
  static constexpr int64_t keysPerTile = 128, queriesPerTile = 64;

  /// Returns sizes with these parameters, some or all of those of `getParameters`; the others are the fastest known
  /// ones. `parameters` are null if nothing is selected. Fails if the function does not work with them on `target`;
  /// `whyNot` then completes the sentence "it …". The head_dim is one for which WarpgroupTiles fit.
  static mlir::FailureOr<WarpgroupGradientTiles> select(const AttentionSizes &sizes,
                                                        const std::optional<ScoreText> &score,
                                                        const TargetDescription &target, mlir::Attribute parameters,
                                                        std::string &whyNot);
  /// Returns other parameters that are worth timing, which differ from these in one number.
  llvm::SmallVector<mlir::DictionaryAttr> listVariants(const std::optional<ScoreText> &score,
                                                       const TargetDescription &target,
                                                       mlir::MLIRContext *context) const;

  /// Returns `{heads, query_stages, slope_stages, sum_stages, overlap}`: key heads that are computed at the same time;
  /// tiles in shared memory of queries with their gradients, of dS, and of dQ; and whether the matmuls for dP and dV
  /// run at the same time.
  mlir::DictionaryAttr getParameters(mlir::MLIRContext *context) const;

  /// Returns whether this is faster than one function for dQ and one for dK and dV.
  static bool isFaster(const AttentionSizes &sizes);

  // Per function: threads of a block, and their number.
  static constexpr int64_t prepareThreads = 256, sumsThreads = 512, roundThreads = 128;
  int64_t getPrepareBlocks() const { return sizes.batches * sizes.keyHeads + getQueryTiles(); }
  /// The number of tiles of keys, which blocks take one after the other.
  int64_t getKeyTiles() const;
  int64_t getRoundBlocks() const { return getQueryTiles(); }
  // Bytes of dynamic shared memory; the first function uses none.
  int64_t getSumsSharedBytes() const;
  int64_t getRoundSharedBytes() const;
  int64_t getWorkspaceBytes() const;
  /// The bits of tiles that data hides, which come last in the workspace, and their offset.
  llvm::SmallVector<TileMaskText, 2> getMasks() const {
    return {{queriesPerTile, keysPerTile, /*ownsKeys=*/true}, {queriesPerTile, keysPerTile, /*ownsKeys=*/false}};
  }
  int64_t getMaskOffset() const;

  /// The numbers of columns of the results for which an instruction is needed, and of those with a transposed left
  /// operand.
  llvm::SmallVector<int64_t, 2> getInstructionColumns() const { return {queriesPerTile, getColumns()}; }
  llvm::SmallVector<int64_t, 2> getLeftTransposedColumns() const;

  /// Returns the templates that the functions instantiate for the structures `problem` and `wgmma` of the text.
  std::string getPrepareTemplate(llvm::StringRef problem, llvm::StringRef element) const;
  std::string getSumsTemplate(llvm::StringRef problem, llvm::StringRef wgmma) const;
  std::string getRoundTemplate(llvm::StringRef problem, llvm::StringRef wgmma) const;

private:
  WarpgroupGradientTiles(const AttentionSizes &sizes, const std::optional<ScoreText> &score);
  /// Returns the reason why the function does not work with these sizes; empty if it does.
  std::string whyIllegal(const TargetDescription &target) const;

  AttentionSizes sizes;
  bool hasScoreFunction, skipsHiddenTiles;
  /// Heads that are computed at the same time.
  int64_t headsPerGroup;
  /// Tiles in shared memory: of queries with their gradients, of dS, and of dQ.
  int64_t queryStages, slopeStages, sumStages = 3;
  /// True if the matmuls for dP and dV run at the same time.
  bool overlaps;

  int64_t getColumns() const;
  /// The number of slabs of 64 columns.
  int64_t getSlabs() const;
  /// The number of tiles of queries of all heads.
  int64_t getQueryTiles() const;
  /// Bytes of a tile of so many rows of a head.
  int64_t getTileBytes(int64_t rows) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_WARPGROUPGRADIENTTILES_H
