//===- OptMain.cpp - Body of cs336-opt ------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tool/OptMain.h"

#include "cs336/Diagnostics/PositionHandler.h"
#include "cs336/Driver/Compile/OutputPaths.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Statistics/PassStatistics.h"
#include "cs336/Support/Nesting.h"
#include "cs336/Support/ReadInput.h"
#include "cs336/Support/WriteOutput.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

#include <unistd.h>

using namespace mlir;

/// What MlirOptMain does with files, by `writeOutput`.
static LogicalResult runOnFile(StringRef inputFile, StringRef outputFile, DialectRegistry &registry,
                               const MlirOptMainConfig &config) {
  if (inputFile == "-" && llvm::sys::Process::FileDescriptorIsDisplayed(STDIN_FILENO))
    llvm::errs() << "(reading standard input: Ctrl-D ends it, Ctrl-C the program)\n";
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> input = cs336::readInput(inputFile);
  if (!input) {
    llvm::WithColor::error(llvm::errs()) << llvm::toString(input.takeError()) << "\n";
    return failure();
  }
  if (llvm::Error error = cs336::checkNesting((*input)->getMemBufferRef())) {
    llvm::WithColor::error(llvm::errs()) << llvm::toString(std::move(error)) << "\n";
    return failure();
  }
  // Diagnostics that a test expects are compared as they are.
  if (!config.shouldVerifyDiagnostics())
    cs336::addPositionHandlers(registry, (*input)->getBuffer(), (*input)->getBufferIdentifier(),
                               config.inputSplitMarker());
  bool hasRunFailed = false;
  llvm::Error error = cs336::writeOutput(outputFile, [&](raw_ostream &stream) {
    hasRunFailed = failed(MlirOptMain(stream, std::move(*input), registry, config));
    return hasRunFailed ? llvm::createStringError("it is not complete") : llvm::Error::success();
  });
  if (!error)
    return success();
  // A run that failed has said why.
  if (!hasRunFailed)
    llvm::WithColor::error(llvm::errs()) << "cannot write '" << outputFile << "': " << error << "\n";
  llvm::consumeError(std::move(error));
  return failure();
}

/// The file that remarks are written to; empty if there is none.
static std::string getRemarksFile(const MlirOptMainConfig &config) {
  bool isText = config.getRemarkFormat() == RemarkFormat::REMARK_FORMAT_STDOUT;
  if (isText || !config.shouldEmitRemarks() || !config.getRemarksOutputFile().empty())
    return isText ? "" : config.getRemarksOutputFile();
  // MlirOptMain's own names.
  return config.getRemarkFormat() == RemarkFormat::REMARK_FORMAT_YAML ? "mlir-remarks.yaml" : "mlir-remarks.bitstream";
}

LogicalResult cs336::optMain(int argc, char **argv, llvm::function_ref<void(DialectRegistry &)> registerMore) {
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
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, inputFile, outputFile, registry);
  std::string remarksFile = getRemarksFile(config);
  absl::Status areDistinct = checkDistinct({{"-o", outputFile},
                                            {"--remarks-output-file", remarksFile},
                                            {"--mlir-generate-reproducer", config.getReproducerFilename()}});
  if (!areDistinct.ok()) {
    llvm::WithColor::error(llvm::errs()) << std::string(areDistinct.message()) << "\n";
    return failure();
  }
  if (!passStatistics)
    return runOnFile(inputFile, outputFile, registry, config);
  MlirOptMainConfig counting = config;
  counting.setPassPipelineSetupFn([&config](PassManager &manager) {
    enablePassStatistics(manager, llvm::errs());
    return config.setupPassPipeline(manager);
  });
  return runOnFile(inputFile, outputFile, registry, counting);
}
