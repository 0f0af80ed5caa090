//===- CS336IndexInterface.h - Operations that take indices -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336INDEXINTERFACE_H
#define CS336_DIALECT_CS336_IR_CS336INDEXINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace cs336 {

/// An operand whose integers are indices in [0, bound).
struct IndexUse {
  unsigned operand;
  int64_t bound;
  /// A noun phrase for the indexed elements, used in errors: "rows of its table".
  llvm::StringRef places;
};

} // namespace cs336

#include "cs336/Dialect/CS336/IR/CS336IndexInterface.h.inc"

namespace cs336 {

/// Attaches IndexingOpInterface to the dialect's operations that take indices.
void attachIndexingModels(mlir::MLIRContext &context);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_CS336INDEXINTERFACE_H
