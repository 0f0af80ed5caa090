//===- LayoutBorders.h - Layout operations at kernels' borders ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_LAYOUTBORDERS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_LAYOUTBORDERS_H

#include "mlir/IR/Block.h"

namespace cs336 {

/// Moves layout operations out of chains of element-wise operations, so that they become strides of the tensors that a
/// kernel loads and stores:
///
///     slice(reshape(cast(x)))                → cast(slice(reshape(x)))
///     cast(reshape(concat(even, odd)))       → reshape(concat(cast(even), cast(odd)))
///
/// Returns the number of moved operations.
unsigned moveLayoutsToBorders(mlir::Block &block);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_LAYOUTBORDERS_H
