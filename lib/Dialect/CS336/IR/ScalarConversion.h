//===- ScalarConversion.h - Element types in scalar code --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_IR_SCALARCONVERSION_H
#define CS336_LIB_DIALECT_CS336_IR_SCALARCONVERSION_H

#include "mlir/IR/Builders.h"

namespace cs336 {

/// Returns the type for arithmetic on elements of `type`: float32 for bf16 and f16, otherwise the type itself. Sums,
/// products, quotients and square roots rounded from float32 equal those of the narrow type itself.
mlir::Type getComputeType(mlir::Type type);

/// Converts an element as `cs336.cast` does: floats round to nearest even (float64 reaches bf16 and f16 through
/// float32), float to integer truncates toward zero, i1 is 0 or 1, and to i1 is "not zero".
mlir::Value convertScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_IR_SCALARCONVERSION_H
