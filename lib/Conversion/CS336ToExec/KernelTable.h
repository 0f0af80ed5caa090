//===- KernelTable.h - Distinct kernels of a module -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CONVERSION_CS336TOEXEC_KERNELTABLE_H
#define CS336_LIB_CONVERSION_CS336TOEXEC_KERNELTABLE_H

#include "Group.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"

#include <map>

namespace cs336 {

/// Outlines groups. Groups of equal structure, attributes and layouts share a kernel. A kernel is named after its
/// operations and a hash of its text ("sigmoid_mul_3f2a"), so that equal kernels have equal names in every module.
class KernelTable {
public:
  /// Kernels are inserted at `position`, under names that are free in `symbols`.
  KernelTable(mlir::SymbolTable &symbols, mlir::Block::iterator position) : symbols(symbols), position(position) {}

  /// Returns the kernel that computes `group` from operands of these layouts, into dense results.
  exec::KernelOp getOrCreate(const Group &group, llvm::ArrayRef<mlir::MemRefType> operandLayouts);

  unsigned size() const { return kernels.size(); }

private:
  exec::KernelOp create(const Group &group, mlir::FunctionType signature);

  mlir::SymbolTable &symbols;
  mlir::Block::iterator position;
  std::map<std::vector<const void *>, exec::KernelOp> kernels;
};

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_KERNELTABLE_H
