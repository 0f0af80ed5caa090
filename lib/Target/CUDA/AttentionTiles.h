//===- AttentionTiles.h - How blocks share attention ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_ATTENTIONTILES_H
#define CS336_LIB_TARGET_CUDA_ATTENTIONTILES_H

#include "cs336/Target/CUDA/ScoreTile.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace cs336::cuda {

struct AttentionWork;
struct TargetDescription;

/// Functions of attention and its gradient: each computes rows of queries or of keys, and streams tiles of the other
/// side.
enum class AttentionStage { Forward, BackwardQueries, BackwardKeys };

/// The arithmetic of the matmuls: tensor cores for bf16 and f16; for float32 tensor cores in tf32, or exact
/// multiply-adds.
enum class AttentionArithmetic { TensorCores, TensorFloats, FusedMultiplyAdds };

/// Returns the arithmetic of an attention whose elements have this type.
AttentionArithmetic getAttentionArithmetic(mlir::Type element, Precision precision);

struct AttentionSizes {
  int64_t batches, queries, keys, queryHeads, keyHeads, headDim;
};

/// The tile sizes of one function, and numbers that depend on them; runtime/kernels/attention_*.cuh compute the same
/// numbers.
class AttentionTiles {
public:
  static constexpr int64_t maxHeadDim = 256;

  /// The reason why no tiles fit, which completes the sentence "it …"; empty if some fit.
  static std::string whyNone(const AttentionSizes &sizes, mlir::Type element);

  /// Returns the fastest known tile sizes that fit into the shared memory of every architecture.
  static AttentionTiles choose(AttentionStage stage, const AttentionSizes &sizes, mlir::Type element,
                               AttentionArithmetic arithmetic);

  /// Returns tile sizes with these parameters, some or all of those of `getParameters`: the fastest known ones that
  /// have them, or else what the function works with. Fails if there are none, or if they exceed the shared memory of
  /// `target`; `whyNot` then completes the sentence "it …".
  static mlir::FailureOr<AttentionTiles> select(AttentionStage stage, const AttentionSizes &sizes, mlir::Type element,
                                                AttentionArithmetic arithmetic, const TargetDescription &target,
                                                mlir::Attribute parameters, std::string &whyNot);

  /// Returns the tile sizes of `choose`, then others with which the function works on `target`, by their predicted time
  /// (AttentionCost.h).
  static std::vector<AttentionTiles> listCandidates(AttentionStage stage, const AttentionSizes &sizes,
                                                    mlir::Type element, AttentionArithmetic arithmetic, bool isCausal,
                                                    const TargetDescription &target);

  /// Returns the parameters `{rows, tile}` with which a block of the function computes this tile of scores.
  static mlir::DictionaryAttr getParameters(AttentionStage stage, const ScoreTile &tile, mlir::MLIRContext *context);
  /// Returns the least shared memory of a block that computes this tile of scores.
  static int64_t getLeastSharedBytes(AttentionStage stage, const ScoreTile &tile, const AttentionSizes &sizes,
                                     mlir::Type element, AttentionArithmetic arithmetic);

  /// Returns the name of the parameters of a function: "forward", "queries", "keys".
  static llvm::StringRef getStageName(AttentionStage stage);
  /// Returns `{rows, warps, tile, stages, keep_left, slices}`: rows of a block and of a streamed tile, warps of a
  /// block, streamed tiles in shared memory, whether the left operands stay in registers, and parts of the columns.
  mlir::DictionaryAttr getParameters() const;

  int64_t getBlocks() const;
  int64_t getThreads() const { return 32 * choice.warps; }
  /// Bytes of dynamic shared memory.
  int64_t getSharedBytes() const;

  /// Returns the work from which the time is predicted.
  AttentionWork getWork(bool isCausal) const;

  /// Returns the template that the function instantiates for the structure `problem`.
  std::string getTemplate(llvm::StringRef problem) const;
  /// "64 queries per block of 4 warps, keys in tiles of 64, by tensor cores"
  std::string describe() const;

private:
  /// Tile sizes, and the conditions for their use.
  struct Choice {
    /// The largest head_dim that fits into the registers.
    int64_t maxDepth;
    /// With tensor cores the number of groups of 16 rows per warp; with fused multiply-adds the rows per thread.
    int64_t rows;
    int64_t warps;
    /// Rows of a streamed tile, and the number of streamed tiles in shared memory.
    int64_t tileRows, stages;
    /// Returns whether the left operands stay in registers.
    bool keepsLeft;
    /// The number of parts of the columns, each computed by separate blocks.
    int64_t slices = 1;
    /// The minimum numbers of blocks and of streamed rows for which larger tiles are faster.
    int64_t minBlocks = 0, minStreamed = 0;
  };

  AttentionTiles(AttentionStage stage, const AttentionSizes &sizes, mlir::Type element, AttentionArithmetic arithmetic,
                 const Choice &choice)
      : stage(stage), sizes(sizes), element(element), arithmetic(arithmetic), choice(choice) {}

  static llvm::ArrayRef<Choice> getChoices(AttentionStage stage, AttentionArithmetic arithmetic);
  /// Returns whether the tiles fit into registers, and into so many bytes of shared memory.
  bool fits(int64_t sharedBytes) const;
  /// Returns whether the tiles have all of these parameters.
  bool has(mlir::DictionaryAttr parameters) const;
  /// Completes parameters that no known tile sizes have. Fails with the reason in `whyNot`.
  static mlir::FailureOr<AttentionTiles> complete(AttentionStage stage, const AttentionSizes &sizes, mlir::Type element,
                                                  AttentionArithmetic arithmetic, const TargetDescription &target,
                                                  mlir::DictionaryAttr parameters, std::string &whyNot);
  /// Sets the warps, and the rows per warp, of a block of so many rows. Fails if `warps` is another number than 0 and
  /// does not divide them.
  bool divideRows(int64_t rows, int64_t warps);
  /// Sets whether the left operands stay in registers.
  void placeLeft();
  /// Returns the registers of a thread that hold accumulators, and those for the left operands.
  int64_t countSums() const;
  int64_t countLeft() const;
  /// Returns whether the accumulators and the left operands that stay in registers leave room for the rest.
  bool fitsRegisters() const;
  /// Returns whether there are enough blocks and rows for tiles of this size to be fast.
  bool isFast() const;

  bool usesTensorCores() const { return arithmetic != AttentionArithmetic::FusedMultiplyAdds; }
  int64_t getElementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  /// Elements of a row in shared memory.
  int64_t getDepth() const;
  /// Bytes of a row in shared memory.
  int64_t getPitch() const;
  int64_t getRowsPerWarp() const { return (usesTensorCores() ? 16 : 2) * choice.rows; }
  int64_t getRowsPerBlock() const { return getRowsPerWarp() * choice.warps; }

  AttentionStage stage;
  AttentionSizes sizes;
  mlir::Type element;
  AttentionArithmetic arithmetic;
  Choice choice;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ATTENTIONTILES_H
