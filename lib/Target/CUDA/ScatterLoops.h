//===- ScatterLoops.h - Loops that add rows to a table ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SCATTERLOOPS_H
#define CS336_LIB_TARGET_CUDA_SCATTERLOOPS_H

#include "KernelProgram.h"
#include "cs336/Target/CUDA/KernelSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <optional>

namespace cs336::cuda {

/// Loops over positions, then columns, that compute table[ids[position], column] += gradient[position, column] from a
/// table that is filled with one value.
struct ScatterLoops {
  /// The operands of the kernel with the rows' numbers and with what is added.
  unsigned ids, gradient;
  /// The initial value of the table's elements.
  mlir::TypedAttr initial;
  llvm::SmallVector<int64_t> positions;
  int64_t columns;
  /// Adds the second operand to the first, in the type of the table or a wider one.
  mlir::arith::AddFOp add;
  /// Rounds the sum to an element of the table, or null.
  mlir::Operation *rounding = nullptr;

  /// Returns nothing if the function has other loops.
  static std::optional<ScatterLoops> match(mlir::func::FuncOp function);

  /// Returns the addresses: ids and gradient as loads, the table's columns as a store. The first nest of loops is over
  /// positions, the second over columns.
  KernelProgram getProgram(const DeviceKernel &kernel) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SCATTERLOOPS_H
