//===- Passes.h - Passes over the exec dialect -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_PASSES_H
#define CS336_DIALECT_EXEC_TRANSFORMS_PASSES_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "mlir/Pass/Pass.h"

namespace cs336::exec {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_PASSES_H
