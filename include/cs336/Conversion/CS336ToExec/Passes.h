//===- Passes.h - Conversion of the cs336 dialect to exec -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_CONVERSION_CS336TOEXEC_PASSES_H
#define CS336_CONVERSION_CS336TOEXEC_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace cs336 {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "cs336/Conversion/CS336ToExec/Passes.h.inc"

} // namespace cs336

#endif // CS336_CONVERSION_CS336TOEXEC_PASSES_H
