//===- RowProgram.h - Rows whose reductions need each other -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_ROWPROGRAM_H
#define CS336_LIB_TARGET_CUDA_ROWPROGRAM_H

#include "KernelProgram.h"

namespace cs336::cuda {

/// One walk over the elements of a row. Reductions whose terms need the results of others come in a later pass.
struct RowPass {
  /// Reductions that the pass computes.
  llvm::SmallVector<unsigned> reduced;
  /// Stores, by number, of elements of the row: all in one pass, which no pass follows.
  llvm::SmallVector<unsigned> stores;
  /// What is computed of each element, loads and values that earlier passes kept included.
  llvm::SmallVector<unsigned> scalars;
};

/// A program of rows (see KernelProgram::readRows), its scalars sorted by when they are known. All reductions run along
/// the rows.
struct RowProgram {
  KernelProgram program;
  llvm::SmallVector<RowPass> passes;
  /// By scalar: whether each element of a row has its own, and how many passes must end before it is known.
  llvm::SmallVector<bool> isOfElement;
  llvm::SmallVector<unsigned> levels;
  /// Values of elements that take long to compute and that several passes use: computed by the first of them.
  llvm::SmallVector<unsigned> kept;
  /// Sums of which every term but that of one element is zero: that element's number in the row, an integer, by sum. No
  /// pass computes them.
  llvm::DenseMap<unsigned, unsigned> picked;
  /// Stores, by number, of an element a row.
  llvm::SmallVector<unsigned> storesOfRows;

  /// Reads a kernel and merges its dimensions. On failure `whyNot` completes the sentence "it …".
  static mlir::FailureOr<RowProgram> read(const DeviceKernel &kernel, std::string &whyNot);
  /// Chooses what is kept, which `read` leaves empty.
  void chooseKept();

  const LoopNest &getColumns() const { return program.nests[1]; }
  int64_t getNumRows() const { return program.getNumPoints(); }
  int64_t getNumElements() const { return program.getNumIterations(getColumns()); }
  /// Returns whether the index changes along a row.
  bool movesAlongRow(mlir::AffineExpr index) const;
  /// Returns whether the index is another one in another row.
  bool movesWithRow(mlir::AffineExpr index) const;
  /// Scalars that are computed once a row and are known after so many passes.
  llvm::SmallVector<unsigned> getScalarsOfRows(unsigned level) const;
  /// Everything that the value of one element is computed from and that each element has its own of.
  llvm::SmallVector<unsigned> getScalarsOfElement(unsigned id) const;
  /// The term of a picked sum.
  unsigned getPickedTerm(unsigned id) const;
  /// Returns whether something that each element has its own of is computed from the scalar, which is one of a row.
  bool isUsedByElements(unsigned id) const;
  /// Returns whether the scalar is one of a row, by which float32 numbers of elements are divided.
  bool dividesElements(unsigned id) const;

private:
  void sortScalars();
  /// The number of the only element whose term is not zero, if the reduction is such a sum.
  std::optional<unsigned> findPicked(const Scalar &reduced) const;
  void makePasses();
  /// What a pass computes if it finds what is in `kept`.
  llvm::SmallVector<unsigned> collectScalars(unsigned pass) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ROWPROGRAM_H
