//===- KernelMemory.h - Elements of a kernel in memory ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_KERNELMEMORY_H
#define CS336_LIB_TARGET_CPU_KERNELMEMORY_H

#include "KernelPlan.h"

namespace cs336::cpu {

/// Reads and writes elements of a kernel's storages by their index: one, or a vector of several. A storage is a memref
/// of one dimension. An i1 takes one byte.
class KernelMemory {
public:
  /// Builds the storages at the builder's insertion point, the start of a function. `buffers` points at the operands'
  /// addresses, followed by the address of the thread's memory if the plan uses any.
  KernelMemory(const KernelPlan &plan, mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffers);

  mlir::Type getElementType(unsigned storage) const { return plan.storages[storage].element; }

  mlir::Value load(mlir::Location loc, unsigned storage, mlir::Value index);
  void store(mlir::Location loc, mlir::Value value, unsigned storage, mlir::Value index);

  /// Reads `lanes` elements `index`, `index` + `stride`, …. `stride` is 1 or 2. Reads no memory before the first or
  /// after the last of them.
  mlir::Value loadVector(mlir::Location loc, unsigned storage, mlir::Value index, int64_t stride, int64_t lanes);
  /// Writes a vector to the elements from `index` on.
  void storeVector(mlir::Location loc, mlir::Value value, unsigned storage, mlir::Value index);

  mlir::Value constant(mlir::Location loc, int64_t value);
  mlir::Value add(mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Location loc, mlir::Value lhs, int64_t rhs);

private:
  mlir::Value loadAddress(mlir::Location loc, unsigned position, mlir::Value buffers);
  mlir::Value buildOperand(mlir::Location loc, const Storage &storage, mlir::Value buffers);
  mlir::Value buildConstant(mlir::Location loc, const Storage &storage);
  mlir::Value buildTemporary(mlir::Location loc, const Storage &storage, mlir::Value buffers);
  mlir::Value fromMemory(mlir::Location loc, mlir::Value value, unsigned storage);
  mlir::Value toMemory(mlir::Location loc, mlir::Value value);

  const KernelPlan &plan;
  mlir::OpBuilder &builder;
  llvm::SmallVector<mlir::Value> bases;
};

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_KERNELMEMORY_H
