//===- OwnFactors.h - Factors that a rank gathers to itself -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_OWNFACTORS_H
#define CS336_LIB_TARGET_CUDA_OWNFACTORS_H

#include "UpdateSearch.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

#include <optional>

namespace cs336::cuda {

/// The factor of a matmul, an input of a launch: a matrix with the tokens of all ranks, which a collective gathers.
struct GatheredFactor {
  exec::CollectiveOp collective;
  /// The operand of the collective.
  unsigned operand;
  /// The tokens of one rank. They are axis 0 of the matrix, or axis 1 if it is transposed.
  int64_t tokens;
  bool isTransposed;
  /// The layout of the factor in the storage that the collective writes. Its offset is within the first token.
  exec::BufferLayout layout;

  /// Creates a view of this rank's tokens in the source of the collective.
  mlir::Value createOwn(mlir::OpBuilder &builder) const;
  /// Creates a view of the tokens of the other ranks, in storage of the collective's target without the own part.
  mlir::Value createOthers(mlir::OpBuilder &builder, mlir::Value storage) const;
};

/// A launch that reads gathered factors, by the input that each is.
struct FactorReader {
  exec::LaunchOp launch;
  llvm::MapVector<unsigned, GatheredFactor> factors;
};

/// The launches of an entry whose kernels can read own factors where they are, and the operands of collectives that
/// only they read.
struct OwnFactors {
  llvm::SmallVector<FactorReader, 0> readers;
  llvm::MapVector<mlir::Operation *, llvm::SmallSet<unsigned, 4>> operands;
};

/// Finds the launches of kernels whose matmuls all have gathered factors. All launches that read a gathered factor are
/// among them, or none is. No command writes a source between its collective and the launch.
OwnFactors findOwnFactors(const EntryCommands &commands, mlir::SymbolTable &symbols);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_OWNFACTORS_H
