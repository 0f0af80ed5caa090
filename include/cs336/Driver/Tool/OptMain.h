//===- OptMain.h - Body of cs336-opt ----------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TOOL_OPTMAIN_H
#define CS336_DRIVER_TOOL_OPTMAIN_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/LogicalResult.h"

namespace cs336 {

/// Does what mlir-opt does, with the project's dialects and passes, and prints locations by default. Call it from
/// `toolMain`. `registerMore` may add dialects; register further passes before the call.
llvm::LogicalResult optMain(int argc, char **argv,
                            llvm::function_ref<void(mlir::DialectRegistry &)> registerMore = nullptr);

} // namespace cs336

#endif // CS336_DRIVER_TOOL_OPTMAIN_H
