//===- AbsorbConversions.h - Groups read what is narrower --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBCONVERSIONS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBCONVERSIONS_H

#include "mlir/IR/Block.h"

namespace cs336 {

/// Lets groups of `block` convert what they read themselves where that is narrower than what they read now. Returns
/// how many conversions went into a group.
unsigned absorbConversions(mlir::Block &block);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_ABSORBCONVERSIONS_H
