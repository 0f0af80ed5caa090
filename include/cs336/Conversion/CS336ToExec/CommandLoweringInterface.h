//===- CommandLoweringInterface.h - Operations that become commands of their own -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_CONVERSION_CS336TOEXEC_COMMANDLOWERINGINTERFACE_H
#define CS336_CONVERSION_CS336TOEXEC_COMMANDLOWERINGINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "cs336/Conversion/CS336ToExec/CommandLoweringInterface.h.inc"

namespace cs336 {

/// Registers the lowerings of the cs336 dialect's matmuls and collectives to commands.
void registerCommandLoweringModels(mlir::DialectRegistry &registry);

} // namespace cs336

#endif // CS336_CONVERSION_CS336TOEXEC_COMMANDLOWERINGINTERFACE_H
