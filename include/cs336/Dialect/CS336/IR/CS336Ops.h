//===- CS336Ops.h - Operations of the cs336 dialect -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336OPS_H
#define CS336_DIALECT_CS336_IR_CS336OPS_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/Collectives.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace cs336 {
/// Returns a splat of `value` rounded to the element type (integers truncate; i1 is value != 0).
mlir::DenseElementsAttr getSplat(mlir::RankedTensorType type, double value);

/// Returns the floating-point number that all elements of a constant have, or nullopt. Broadcast and reshaped constants
/// count too. In PyTorch, such a constant is a Python number.
std::optional<llvm::APFloat> getSplat(mlir::Value value);
} // namespace cs336

#define GET_OP_CLASSES
#include "cs336/Dialect/CS336/IR/CS336Ops.h.inc"

#endif // CS336_DIALECT_CS336_IR_CS336OPS_H
