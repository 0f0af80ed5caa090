//===- cs336-opt-test.cpp - cs336-opt with what only tests need -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dialect/Test/TestDialect.h"
#include "cs336/Driver/Tool/OptMain.h"
#include "cs336/Driver/Tool/ToolMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  return cs336::toolMain(argc, argv, [&] {
    cs336::test::registerTestPasses();
    return mlir::asMainReturnCode(cs336::optMain(argc, argv, cs336::test::registerTestDialect));
  });
}
