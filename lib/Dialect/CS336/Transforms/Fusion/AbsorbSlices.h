//===- AbsorbSlices.h - Moves interleaved slices into fusion groups -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBSLICES_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBSLICES_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

namespace cs336 {

/// Returns whether the slice takes one element of the last axis, and all elements of the other axes: the even or the
/// odd elements of pairs.
bool isInterleaved(SliceOp slice);

/// Moves interleaved slices into the groups of `block` that read at least two slices of one tensor. A group then has
/// one operand, whose neighbouring elements it can load together. Returns the number of slices that went into a group.
unsigned absorbSlices(mlir::Block &block);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBSLICES_H
