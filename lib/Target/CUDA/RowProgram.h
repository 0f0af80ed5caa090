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

/// One loop over the elements of a row. Reductions whose terms depend on other reductions are in a later pass.
struct RowPass {
  /// Reductions that the pass computes.
  llvm::SmallVector<unsigned> reduced;
  /// The numbers of stores to elements of the row. They are all in the last pass.
  llvm::SmallVector<unsigned> stores;
  /// The scalars that are computed for each element, including loads and values that earlier passes kept.
  llvm::SmallVector<unsigned> scalars;
};

/// A program of rows (see KernelProgram::readRows), its scalars sorted by when they are known. All reductions run along
/// the rows.
struct RowProgram {
  KernelProgram program;
  llvm::SmallVector<RowPass> passes;
  /// For each scalar: true if it has one value per element of a row, and the number of passes after which it is
  /// available.
  llvm::SmallVector<bool> isOfElement;
  llvm::SmallVector<unsigned> levels;
  /// Expensive values of elements that several passes use. The first of these passes computes them.
  llvm::SmallVector<unsigned> kept;
  /// Sums in which only one element has a nonzero term, with that element's index in the row. No pass computes these
  /// sums.
  llvm::DenseMap<unsigned, unsigned> picked;
  /// The numbers of stores of one element per row.
  llvm::SmallVector<unsigned> storesOfRows;

  /// Reads a kernel and merges its dimensions. On failure `whyNot` completes the sentence "it …".
  static mlir::FailureOr<RowProgram> read(const DeviceKernel &kernel, std::string &whyNot);
  /// Chooses the values that are kept. After `read` there are none.
  void chooseKept();

  const LoopNest &getColumns() const { return program.nests[1]; }
  int64_t getNumRows() const { return program.getNumPoints(); }
  int64_t getNumElements() const { return program.getNumIterations(getColumns()); }
  /// Returns whether the index changes along a row.
  bool movesAlongRow(mlir::AffineExpr index) const;
  /// Returns whether the index differs between rows.
  bool movesWithRow(mlir::AffineExpr index) const;
  /// Returns the scalars that are computed once per row after this number of passes.
  llvm::SmallVector<unsigned> getScalarsOfRows(unsigned level) const;
  /// Returns the scalars with one value per element from which the value of an element is computed.
  llvm::SmallVector<unsigned> getScalarsOfElement(unsigned id) const;
  /// Returns the term of a picked sum.
  unsigned getPickedTerm(unsigned id) const;
  /// Returns whether a value per element is computed from the scalar, which has one value per row.
  bool isUsedByElements(unsigned id) const;
  /// Returns whether float32 values of elements are divided by the scalar, which has one value per row.
  bool dividesElements(unsigned id) const;

private:
  void sortScalars();
  /// Returns the index of the only element with a nonzero term, if the reduction is such a sum.
  std::optional<unsigned> findPicked(const Scalar &reduced) const;
  void makePasses();
  /// Returns the scalars that a pass computes if the values in `kept` are available.
  llvm::SmallVector<unsigned> collectScalars(unsigned pass) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ROWPROGRAM_H
