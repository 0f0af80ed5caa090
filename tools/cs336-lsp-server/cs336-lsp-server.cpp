//===- cs336-lsp-server.cpp - IR diagnostics and navigation in editors ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Registration.h"
#include "cs336/Driver/ToolFlags.h"
#include "cs336/Driver/ToolMain.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  return cs336::toolMain(argc, argv, [&] {
    mlir::DialectRegistry registry;
    cs336::registerAllDialects(registry);
    // Those of the server itself are registered later, and stay.
    cs336::hideOtherFlags({});
    return mlir::asMainReturnCode(mlir::MlirLspServerMain(argc, argv, registry));
  });
}
