//===- ScatterKernel.h - Parts of kernels that add rows ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SCATTERKERNEL_H
#define CS336_LIB_TARGET_CUDA_SCATTERKERNEL_H

#include "IndexPrinter.h"
#include "IterationSpace.h"
#include "ScalarEmitter.h"
#include "ScatterLoops.h"

namespace cs336::cuda {

/// The common parts of the schedules that add rows to a table: a warp sums a slice of the columns of a row, with a
/// vector of them per lane. The schedules differ in how a warp finds the positions of a row.
class ScatterKernel : public ScheduledKernel {
public:
  ScatterKernel(const DeviceKernel &kernel, const ScatterLoops &scatter);
  void collectDeviceSources(DeviceSources &sources) const override;

protected:
  static constexpr int64_t threadsPerBlock = 256, threadsPerWarp = 32, warpsPerBlock = threadsPerBlock / threadsPerWarp;

  int64_t getNumPositions() const { return program.getNumPoints(); }
  int64_t getNumRows() const { return kernel.operands.back().getDimSize(0); }
  int64_t getNumSlices() const { return llvm::divideCeilSigned(scatter.columns, threadsPerWarp * columns.width); }
  mlir::Type getTableType() const { return kernel.operands.back().getElementType(); }
  /// Returns the type of one access: "Vector<float, 4>", or the element's type for accesses of one element.
  std::string getVectorType(llvm::StringRef element) const;
  /// Returns the type of the gradient's vectors in memory, and of sums.
  std::string getGradientType() const;
  std::string getSumType() const;
  /// Returns a vector whose elements are all `value`, as an initializer.
  std::string splat(mlir::TypedAttr value) const;

  /// Declares the variables of the position in `position`, and returns the expression of its row.
  std::string emitRow(llvm::raw_ostream &os, llvm::StringRef indent, llvm::StringRef position) const;
  /// Loads the gradient at `position` and `column` into `vector`.
  void emitLoad(llvm::raw_ostream &os, llvm::StringRef indent, llvm::StringRef vector, llvm::StringRef position) const;
  /// Adds a vector of the gradient's type to `sum`.
  void emitAddition(llvm::raw_ostream &os, llvm::StringRef indent, llvm::StringRef vector) const;
  /// Adds a vector of the type of sums to `sum`.
  void emitSumAddition(llvm::raw_ostream &os, llvm::StringRef indent, llvm::StringRef vector) const;
  /// Rounds `sum` and stores it at `row` and `column`.
  void emitStore(llvm::raw_ostream &os, llvm::StringRef indent) const;

  const DeviceKernel kernel;
  const ScatterLoops scatter;
  /// The addresses: ids and gradient as loads, the table's columns as a store.
  const KernelProgram program;
  const VectorAxis columns;
  const IndexPrinter indices;

private:
  VectorAxis chooseColumns() const;
  /// Adds `term` to `sum`, both with `lane`.
  void emitAdditionOf(llvm::raw_ostream &os, llvm::StringRef indent, Expression term) const;
  std::string getLane() const { return columns.width == 1 ? "" : "[lane]"; }
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SCATTERKERNEL_H
