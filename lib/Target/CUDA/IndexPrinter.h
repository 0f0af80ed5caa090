//===- IndexPrinter.h - Index arithmetic as C++ -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_INDEXPRINTER_H
#define CS336_LIB_TARGET_CUDA_INDEXPRINTER_H

#include "Expression.h"
#include "mlir/IR/AffineExpr.h"

namespace cs336::cuda {

/// Prints indices in terms of the unsigned variables i0, i1, …, one per dimension of a program.
class IndexPrinter {
public:
  explicit IndexPrinter(bool use64Bit) : use64Bit(use64Bit) {}

  llvm::StringRef getType() const { return use64Bit ? "unsigned long long" : "unsigned"; }
  static std::string getVariable(unsigned dim) { return "i" + std::to_string(dim); }

  Expression print(mlir::AffineExpr index) const;

  /// Declares the variables of `dims` dimensions from `first` on: the point whose row-major position, counted in
  /// vectors of `width` along the last dimension, is that of the variable `position`.
  void emitPoint(llvm::raw_ostream &os, llvm::StringRef indent, unsigned first, llvm::ArrayRef<int64_t> extents,
                 llvm::StringRef position, int64_t width) const;

  /// As above, for the point of a thread of the grid. A thread beyond the last point returns.
  void emitThreadPoint(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> extents, int64_t width,
                       int64_t threadsPerBlock) const;

  /// Writes the head of a loop over the points of `extents`, from position `begin` in steps of `step`, with its opening
  /// brace, and the variables of the point.
  void emitLoop(llvm::raw_ostream &os, llvm::StringRef indent, unsigned first, llvm::ArrayRef<int64_t> extents,
                int64_t width, llvm::StringRef begin, llvm::StringRef step) const;

  /// Returns the block's number as an index.
  std::string getBlock() const;

private:
  bool use64Bit;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_INDEXPRINTER_H
