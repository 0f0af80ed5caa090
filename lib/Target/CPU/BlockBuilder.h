//===- BlockBuilder.h - GEMMs and functions of blocks -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_BLOCKBUILDER_H
#define CS336_LIB_TARGET_CPU_BLOCKBUILDER_H

#include "KernelMemory.h"

namespace cs336::cpu {

/// Elements of an operand: (row, column) is at origin + row·rowStride + column·columnStride.
struct Matrix {
  unsigned storage;
  mlir::Value origin;
  int64_t rowStride, columnStride;

  Matrix transposed() const { return {storage, origin, columnStride, rowStride}; }
};

/// Builds code on panels: temporaries of rows of `lanes` numbers, in the type that the kernel computes in. A lane is a
/// position of the block (a query, or a key), so that values per position need no operations across lanes.
class BlockBuilder {
public:
  /// Registers have `vectorBits` bits.
  BlockBuilder(KernelMemory &memory, mlir::OpBuilder &builder, mlir::Location loc, mlir::FloatType compute,
               int64_t lanes, int64_t vectorBits);

  using Body = llvm::function_ref<void(mlir::Value)>;
  using CarryingBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;

  /// Iterates from `lower` to below `upper`.
  void loop(mlir::Value lower, mlir::Value upper, int64_t step, Body body);
  llvm::SmallVector<mlir::Value> loop(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange inits,
                                      CarryingBody body);

  /// Loads panel[c][l] = matrix(first + l, c) for lanes below `count`, and 0 for the others. Columns must be
  /// contiguous.
  void pack(const Matrix &matrix, mlir::Value first, mlir::Value count, int64_t columns, unsigned panel);
  /// Stores a panel into the matrix, rounded to its type: the inverse of the load.
  void unpack(unsigned panel, const Matrix &matrix, mlir::Value first, mlir::Value count, int64_t columns);

  /// Computes result[r] (+)= Σ_k matrix(firstRow + r, firstColumn + k)·panel[k], for `rows` rows and `depth` terms.
  void multiply(const Matrix &matrix, mlir::Value firstRow, mlir::Value firstColumn, mlir::Value rows,
                mlir::Value depth, unsigned panel, unsigned result, bool accumulates);

  /// Computes Σ_c lhs(row, c)·rhs(row, c). Columns must be contiguous.
  mlir::Value dot(const Matrix &lhs, const Matrix &rhs, mlir::Value row, int64_t columns);

  /// Accesses row `row` of a panel.
  mlir::Value load(unsigned panel, mlir::Value row);
  void store(mlir::Value vector, unsigned panel, mlir::Value row);
  void fill(unsigned panel, int64_t rows, double value);
  /// Loads a number of a panel's row, or of an operand, in the type that the kernel computes in.
  mlir::Value loadNumber(unsigned storage, mlir::Value index);
  void storeNumber(mlir::Value number, unsigned storage, mlir::Value index);

  // Numbers and vectors.
  mlir::Value splat(double value);
  mlir::Value splat(mlir::Value number);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);
  mlir::Value max(mlir::Value lhs, mlir::Value rhs);
  mlir::Value exp(mlir::Value value);
  mlir::Value log(mlir::Value value);
  /// Returns `value` in the lanes l with l ≥ bound (or l ≤ bound), and `other` in the others.
  mlir::Value selectLanes(bool fromBound, mlir::Value bound, mlir::Value value, mlir::Value other);
  /// Returns `other` in the lanes in which `value` is `number`, and `value` in the others.
  mlir::Value replaceLanes(mlir::Value value, double number, double other);
  /// Returns the positions `first`, `first` + 1, … of the lanes, or `last` for those beyond it, as vector of i32.
  mlir::Value getPositions(mlir::Value first, int64_t last);
  mlir::Value toI32(mlir::Value index);

  // Indices.
  mlir::Value index(int64_t value) { return memory.constant(loc, value); }
  mlir::Value addIndex(mlir::Value lhs, mlir::Value rhs) { return memory.add(loc, lhs, rhs); }
  mlir::Value mulIndex(mlir::Value lhs, int64_t rhs) { return memory.mul(loc, lhs, rhs); }
  mlir::Value subIndex(mlir::Value lhs, mlir::Value rhs);
  mlir::Value minIndex(mlir::Value lhs, mlir::Value rhs);
  mlir::Value maxIndex(mlir::Value lhs, mlir::Value rhs);

private:
  using PairBody = llvm::function_ref<void(mlir::Value, mlir::Value)>;

  void forEachSquare(mlir::Value count, int64_t columns, int64_t size, PairBody square, PairBody single);
  llvm::SmallVector<mlir::Value> transpose(llvm::SmallVector<mlir::Value> rows);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value getIndex(const Matrix &matrix, mlir::Value row, mlir::Value column);
  void multiplyTile(const Matrix &matrix, mlir::Value firstRow, mlir::Value firstColumn, mlir::Value row, int64_t rows,
                    mlir::Value depth, unsigned panel, unsigned result, bool accumulates);
  mlir::Value getLaneNumbers();
  mlir::Value mulAdd(mlir::Value a, mlir::Value b, mlir::Value c);

  KernelMemory &memory;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::FloatType compute;
  int64_t lanes;
  mlir::VectorType vectorType;
  /// Rows of a GEMM's result that are in registers at once.
  int64_t tileRows;
};

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_BLOCKBUILDER_H
