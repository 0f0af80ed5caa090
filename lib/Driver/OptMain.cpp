//===- OptMain.cpp - Body of cs336-opt ------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/OptMain.h"

#include "cs336/Driver/Registration.h"
#include "cs336/Statistics/PassStatistics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

/// What MlirOptMain does with files, on pass managers that also print what passes counted.
static LogicalResult runWithPassStatistics(StringRef inputFile, StringRef outputFile, DialectRegistry &registry,
                                           const MlirOptMainConfig &config) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputFile, &message);
  if (!input) {
    llvm::errs() << message << "\n";
    return failure();
  }
  std::unique_ptr<llvm::ToolOutputFile> output = openOutputFile(outputFile, &message);
  if (!output) {
    llvm::errs() << message << "\n";
    return failure();
  }
  MlirOptMainConfig counting = config;
  counting.setPassPipelineSetupFn([&config](PassManager &manager) {
    cs336::enablePassStatistics(manager, llvm::errs());
    return config.setupPassPipeline(manager);
  });
  if (failed(MlirOptMain(output->os(), std::move(input), registry, counting)))
    return failure();
  output->keep();
  return success();
}

LogicalResult cs336::optMain(int argc, char **argv, llvm::function_ref<void(DialectRegistry &)> registerMore) {
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  registerAllDialects(registry);
  if (registerMore)
    registerMore(registry);
  registerAllPasses();
  llvm::cl::opt<bool> passStatistics("pass-statistics",
                                     llvm::cl::desc("Print what each pass of cs336 counted; --mlir-pass-statistics "
                                                    "prints nothing with packages of MLIR, which are built without"));
  std::string header = registerCLIOptions("Runs passes over Transformer training programs\n", registry);
  printLocationsByDefault();
  auto [inputFile, outputFile] = parseCLIOptions(argc, argv, header);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (passStatistics && !config.shouldShowDialects() && !config.shouldListPasses())
    return runWithPassStatistics(inputFile, outputFile, registry, config);
  return MlirOptMain(argc, argv, inputFile, outputFile, registry);
}
