//===- OperandAxes.h - Axes through layout operations -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_OPERANDAXES_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_OPERANDAXES_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

namespace cs336 {

/// Returns what `axes` says of each axis of a layout operation's result for its operand: of a broadcast, a transpose,
/// or a reshape that adds and drops axes of size 1, of which `none` is said. Returns nullopt for other operations.
template <typename Axis>
std::optional<llvm::SmallVector<Axis>> getOperandAxes(mlir::Operation *view, llvm::ArrayRef<Axis> axes,
                                                      const Axis &none) {
  llvm::SmallVector<Axis> result;
  if (auto broadcast = mlir::dyn_cast<BroadcastOp>(view)) {
    for (int64_t axis : broadcast.getDims())
      result.push_back(axes[axis]);
    return result;
  }
  if (auto transpose = mlir::dyn_cast<TransposeOp>(view)) {
    result.resize(axes.size(), none);
    for (auto [axis, source] : llvm::enumerate(transpose.getPerm()))
      result[source] = axes[axis];
    return result;
  }
  auto reshape = mlir::dyn_cast<ReshapeOp>(view);
  if (!reshape)
    return std::nullopt;
  llvm::SmallVector<std::pair<int64_t, Axis>> longAxes;
  for (auto [size, axis] : llvm::zip_equal(shapeOf(reshape.getResult()), axes))
    if (size != 1)
      longAxes.push_back({size, axis});
  auto next = longAxes.begin();
  for (int64_t size : shapeOf(reshape.getOperand())) {
    if (size != 1 && (next == longAxes.end() || next->first != size))
      return std::nullopt;
    result.push_back(size == 1 ? none : (next++)->second);
  }
  return next == longAxes.end() ? std::optional(result) : std::nullopt;
}

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_OPERANDAXES_H
