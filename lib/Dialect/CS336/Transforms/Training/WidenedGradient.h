//===- WidenedGradient.h - Gradients before they are widened ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_WIDENEDGRADIENT_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_WIDENEDGRADIENT_H

#include "mlir/IR/Value.h"

namespace cs336 {

/// Returns the bf16, f16 or f32 value that `gradient` is widened from, with the same numbers. Returns `gradient` if its
/// last operation is not a cast to a wider type.
mlir::Value skipExtension(mlir::Value gradient);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_WIDENEDGRADIENT_H
