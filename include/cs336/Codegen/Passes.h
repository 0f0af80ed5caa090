//===- Passes.h - Passes that show the input of the targets -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_CODEGEN_PASSES_H
#define CS336_CODEGEN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace cs336 {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "cs336/Codegen/Passes.h.inc"

} // namespace cs336

#endif // CS336_CODEGEN_PASSES_H
