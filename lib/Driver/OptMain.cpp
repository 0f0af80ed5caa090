//===- OptMain.cpp - Body of cs336-opt ------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/OptMain.h"

#include "cs336/Driver/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;

LogicalResult cs336::optMain(int argc, char **argv, llvm::function_ref<void(DialectRegistry &)> registerMore) {
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  registerAllDialects(registry);
  if (registerMore)
    registerMore(registry);
  registerAllPasses();
  std::string header = registerCLIOptions("Runs passes over Transformer training programs\n", registry);
  printLocationsByDefault();
  auto [inputFile, outputFile] = parseCLIOptions(argc, argv, header);
  return MlirOptMain(argc, argv, inputFile, outputFile, registry);
}
