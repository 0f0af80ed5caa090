//===- own-opt.cpp - A tool on the installed compiler ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tool/OptMain.h"
#include "cs336/Driver/Tool/ToolMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  return cs336::toolMain(argc, argv, [&] { return mlir::asMainReturnCode(cs336::optMain(argc, argv)); });
}
