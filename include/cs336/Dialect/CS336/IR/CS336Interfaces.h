//===- CS336Interfaces.h - Interfaces between operations and passes -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336INTERFACES_H
#define CS336_DIALECT_CS336_IR_CS336INTERFACES_H

#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace cs336 {

/// The types that mixed precision gives an operation's floating-point operands and results.
enum class AutocastPolicy {
  /// Rounds to the low type: matmuls.
  Low,
  /// Widens to float32: exponentials, sums, losses.
  Float32,
  /// Widens to the widest floating-point operand.
  Widest,
  /// Runs in the type that its first operand has.
  Keep,
  /// The program names the result's type: a cast.
  Explicit,
};

/// The part of a kernel schedule that an operation requires.
enum class FusionKind {
  /// An element of the result depends on one element of every operand.
  Pointwise,
  /// Elements along the reduced axes are combined.
  RowReduction,
  /// A matmul. A command of its own computes it, unless the target has a kernel that also computes its users.
  Contraction,
  /// Every operand's elements become a box of the result; elements in no box are zero.
  Assembly,
  /// Any other operation, which gets a separate kernel.
  Opaque,
};

/// An operand whose integers are indices in [0, bound).
struct IndexUse {
  unsigned operand;
  int64_t bound;
  /// A noun phrase for the indexed elements, used in errors: "rows of its table".
  llvm::StringRef places;
};

namespace detail {
/// Bytes of all tensors that `op` reads and writes, each once.
int64_t getOperandAndResultBytes(mlir::Operation *op);
} // namespace detail

} // namespace cs336

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h.inc"

#endif // CS336_DIALECT_CS336_IR_CS336INTERFACES_H
