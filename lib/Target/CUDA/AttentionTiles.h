//===- AttentionTiles.h - How blocks share attention ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_ATTENTIONTILES_H
#define CS336_LIB_TARGET_CUDA_ATTENTIONTILES_H

#include "mlir/IR/Types.h"

#include <string>

namespace cs336::cuda {

/// Functions of attention and its gradient: each computes rows, of queries or of keys, and streams tiles of the other.
enum class AttentionStage { Forward, BackwardQueries, BackwardKeys };

/// How products are computed: bf16 and f16 by tensor cores; float32 by tensor cores that take it for tf32, or exactly.
enum class AttentionArithmetic { TensorCores, TensorFloats, FusedMultiplyAdds };

struct AttentionSizes {
  int64_t batches, queries, keys, queryHeads, keyHeads, headDim;
};

/// The tiles of one function, and what follows from them; runtime/kernels/attention_*.cuh compute the same.
class AttentionTiles {
public:
  static constexpr int64_t maxHeadDim = 256, headDimMultiple = 8;

  /// Why there are no tiles: completes the sentence "it …", and is empty where there are some.
  static std::string whyNone(const AttentionSizes &sizes, mlir::Type element);

  /// The fastest known tiles that fit, of what has any.
  static AttentionTiles choose(AttentionStage stage, const AttentionSizes &sizes, mlir::Type element,
                               AttentionArithmetic arithmetic);

  int64_t getBlocks() const;
  int64_t getThreads() const { return 32 * choice.warps; }
  /// Of dynamic shared memory.
  int64_t getSharedBytes() const;

  /// The template that the function instantiates, for the structure `problem`.
  std::string getTemplate(llvm::StringRef problem) const;
  /// "64 queries a block of 4 warps, keys in tiles of 64, by tensor cores"
  std::string describe() const;

private:
  /// Tiles, and for what they are.
  struct Choice {
    /// The longest head that the registers have room for.
    int64_t maxDepth;
    /// Of the tensor cores 16 rows a warp each; of fused multiply-adds rows a thread.
    int64_t rows;
    int64_t warps;
    /// Of a streamed tile, and how many of those are in shared memory.
    int64_t tileRows, stages;
    /// Returns whether the left operands stay in registers.
    bool keepsLeft;
    /// Parts of the columns that blocks of their own compute.
    int64_t slices = 1;
    /// What makes larger tiles pay: so many blocks, of so many streamed rows.
    int64_t minBlocks = 0, minStreamed = 0;
  };

  AttentionTiles(AttentionStage stage, const AttentionSizes &sizes, mlir::Type element, AttentionArithmetic arithmetic,
                 const Choice &choice)
      : stage(stage), sizes(sizes), element(element), arithmetic(arithmetic), choice(choice) {}

  static llvm::ArrayRef<Choice> getChoices(AttentionStage stage, AttentionArithmetic arithmetic);
  bool fits() const;

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
