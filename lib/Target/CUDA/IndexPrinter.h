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

/// Indices in terms of the variables i0, i1, …, one a dimension of the iteration space, all unsigned.
class IndexPrinter {
public:
  explicit IndexPrinter(bool use64Bit) : use64Bit(use64Bit) {}

  llvm::StringRef getType() const { return use64Bit ? "unsigned long long" : "unsigned"; }
  static std::string getVariable(unsigned dim) { return "i" + std::to_string(dim); }

  Expression print(mlir::AffineExpr index) const;

  /// Declares i0, i1, …: the point whose row-major position in `extents` is the thread's number times `width`. A thread
  /// beyond the last point returns.
  void emitPoint(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> extents, int64_t width, int64_t threadsPerBlock) const;

private:
  bool use64Bit;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_INDEXPRINTER_H
