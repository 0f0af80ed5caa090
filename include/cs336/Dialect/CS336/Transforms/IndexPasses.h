//===- IndexPasses.h - Passes that keep indices in bounds -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_INDEXPASSES_H
#define CS336_DIALECT_CS336_TRANSFORMS_INDEXPASSES_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace cs336 {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "cs336/Dialect/CS336/Transforms/IndexPasses.h.inc"

} // namespace cs336

#endif // CS336_DIALECT_CS336_TRANSFORMS_INDEXPASSES_H
