//===- AbsorbConversions.h - Moves widening casts into fusion groups -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBCONVERSIONS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBCONVERSIONS_H

#include "mlir/IR/Block.h"

namespace cs336 {

/// Moves operations on operands into the groups of `block` that read them: casts to a wider type, and multiplications
/// by one number whose result nothing else reads. Returns the number of operations that went into a group.
unsigned absorbConversions(mlir::Block &block);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBCONVERSIONS_H
