//===- WarpgroupTiles.h - How warpgroups share attention --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_WARPGROUPTILES_H
#define CS336_LIB_TARGET_CUDA_WARPGROUPTILES_H

#include "AttentionTiles.h"
#include "ScoreText.h"
#include "TileMaskText.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"

namespace cs336::cuda {

/// The tile sizes of one function of attention by warpgroups, and numbers that depend on them;
/// runtime/kernels/warpgroup_attention_*.cuh compute the same numbers.
class WarpgroupTiles {
public:
  static constexpr int64_t minHeadDim = 40, maxHeadDim = 128, headDimMultiple = 8;
  /// Rows of a warpgroup.
  static constexpr int64_t rows = 64;
  /// Columns of a tile in shared memory that lie together: 128 bytes.
  static constexpr int64_t slabColumns = 64;

  /// The reason why no tiles fit, which completes the sentence "it …"; empty if some fit.
  static std::string whyNone(const AttentionSizes &sizes, mlir::Type element);

  /// Returns tile sizes for a score function, or for none, with these parameters, some or all of those of
  /// `getParameters`; the others are the fastest known ones. `parameters` are null if nothing is selected. Fails if the
  /// function does not work with them on `target`; `whyNot` then completes the sentence "it …".
  static mlir::FailureOr<WarpgroupTiles> select(AttentionStage stage, const AttentionSizes &sizes, bool isCausal,
                                                const std::optional<ScoreText> &score, const TargetDescription &target,
                                                mlir::Attribute parameters, std::string &whyNot);
  /// Returns other rows and tiles with which the function works, those with the fewest pairs of rows in the busiest
  /// block first.
  llvm::SmallVector<mlir::DictionaryAttr> listVariants(const std::optional<ScoreText> &score, bool isCausal,
                                                       const TargetDescription &target,
                                                       mlir::MLIRContext *context) const;

  /// Returns `{rows, tile, stages}`: rows of a block and of a streamed tile, and streamed tiles in shared memory. The
  /// forward pass also has `heads`, those that are computed at the same time; dQ has `value_stages`, the tiles of
  /// values in shared memory; dK and dV have `overlap`, whether matmuls of neighbouring tiles overlap.
  mlir::DictionaryAttr getParameters(mlir::MLIRContext *context) const;

  /// The name of the parameters: "forward", "queries", "keys".
  llvm::StringRef getName() const { return AttentionTiles::getStageName(stage); }

  /// Rows of the tile that a block computes, and of the tiles that it streams.
  int64_t getRowsPerBlock() const { return rows * warpgroups; }
  int64_t getStreamedRows() const { return streamedRows; }
  int64_t getThreads() const { return 128 * (warpgroups + 1); }
  /// The number of tiles of all heads.
  int64_t getTiles() const;
  /// Bytes of dynamic shared memory.
  int64_t getSharedBytes() const;
  /// The queries of a head for which AttentionStage::BackwardQueries leaves numbers in the workspace.
  int64_t getPaddedQueries() const;
  /// The numbers of columns of the results for which the function needs an instruction.
  llvm::SmallVector<int64_t, 2> getInstructionColumns() const;

  /// The bits of tiles that data hides (runtime/kernels/tile_mask.cuh).
  TileMaskText getMask() const;

  /// Returns the template that the function instantiates for the structures `problem` and `wgmma` of the text.
  /// `paddedQueries` is that of AttentionStage::BackwardQueries.
  std::string getTemplate(llvm::StringRef problem, llvm::StringRef wgmma, int64_t paddedQueries) const;
  /// "128 queries per block of 2 warpgroups and one for copies, keys in tiles of 128, by wgmma"
  std::string describe() const;

private:
  AttentionStage stage;
  AttentionSizes sizes;
  /// Computing warpgroups; one more copies.
  int64_t warpgroups;
  int64_t streamedRows;
  /// Tiles in shared memory: of keys, of values; or of queries with their gradients.
  int64_t stages, valueStages;
  /// Only for dK and dV: whether matmuls of neighbouring tiles overlap.
  bool overlapsTiles;
  /// Only for the forward pass: tiles of queries in shared memory, two if there is room.
  int64_t queryStages = 1;
  bool skipsHiddenTiles = false;
  /// Only for the forward pass: whether a matmul adds the steps of a bias.
  bool multipliesBiasSteps = false;
  /// Only for the forward pass: heads that are computed at the same time.
  int64_t headsPerGroup;
  /// Only for the forward pass: whether the first tile of queries begins before the first query, so that the last one
  /// is full (runtime/kernels/query_tile.cuh).
  bool lastIsFull = false;

  WarpgroupTiles(AttentionStage stage, const AttentionSizes &sizes, int64_t warpgroups, int64_t streamedRows,
                 int64_t stages, int64_t valueStages, bool overlapsTiles = false)
      : stage(stage), sizes(sizes), warpgroups(warpgroups), streamedRows(streamedRows), stages(stages),
        valueStages(valueStages), overlapsTiles(overlapsTiles), headsPerGroup(sizes.batches * sizes.queryHeads) {}

  /// Returns the reason why the function does not work with these tile sizes; empty if it does.
  std::string whyIllegal(bool hasDerivatives, const TargetDescription &target) const;
  /// Returns the registers of a thread that computes.
  int64_t getRegisters() const;
  /// Returns those of them that scores and results take.
  int64_t countSums(bool hasDerivatives) const;
  /// Returns the pairs of rows of the block that computes the most.
  int64_t countPairs(int64_t blocks) const;
  /// Returns the fastest known tile sizes of the forward pass if so many blocks run at a time.
  static WarpgroupTiles chooseForward(const AttentionSizes &sizes, bool isCausal, const std::optional<ScoreText> &score,
                                      int64_t blocks);
  /// The same for a stage of the gradient. `hasDerivatives` is true if it multiplies by derivatives.
  static WarpgroupTiles chooseBackward(AttentionStage stage, const AttentionSizes &sizes, bool hasScore,
                                       bool hasDerivatives);
  /// Returns whether the forward kernel chooses `lastIsFull`: if the last queries see the most keys.
  static bool fillsLastTile(const AttentionSizes &sizes, bool isCausal, const std::optional<ScoreText> &score);
  /// Returns the heads whose tiles the blocks compute at the same time.
  int64_t chooseHeadsPerGroup(bool isCausal, int64_t blocks) const;
  /// Returns the number of steps of the block that has the most, with groups of so many heads.
  int64_t getMostSteps(int64_t headsOfGroup, bool isCausal, int64_t blocks) const;
  int64_t getColumns() const;
  /// Bytes of a tile of so many rows of a head.
  int64_t getTileBytes(int64_t rowsOfTile) const;
};

/// Returns the reason why a block of warpgroups is too large, which completes the sentence "it selects … : …"; empty if
/// it is not. `sums` of the `registers` of a thread that computes hold scores, results and rounded operands.
std::string whyTooLarge(int64_t sums, int64_t registers, int64_t sharedBytes, const TargetDescription &target);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_WARPGROUPTILES_H
