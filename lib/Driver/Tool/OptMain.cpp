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
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Statistics/PassStatistics.h"
#include "cs336/Support/Nesting.h"
#include "cs336/Support/ReadInput.h"
#include "cs336/Support/WriteOutput.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

#include <unistd.h>

using namespace mlir;

static constexpr llvm::StringLiteral kOverview =
    R"(Runs passes over Transformer training programs

From a model to a planned program, all at once and pass by pass:
  cs336-opt model.mlir --cs336-pipeline='target=cuda dtype=bf16 fusion=all' -o planned.mlir
  cs336-opt model.mlir --cs336-flash-attention --cs336-autocast=dtype=bf16 --cs336-differentiate
The IR after every pass, and why an operation was not fused:
  cs336-opt model.mlir --cs336-pipeline --mlir-print-ir-after-all
  cs336-opt model.mlir --cs336-fuse-elementwise --remarks-filter=.* --remark-format=emitRemark
)";

/// Reads and writes files as MlirOptMain does, but through `writeOutput`.
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
  // A failed run has printed its error already.
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
  // The same names as in MlirOptMain.
  return config.getRemarkFormat() == RemarkFormat::REMARK_FORMAT_YAML ? "mlir-remarks.yaml" : "mlir-remarks.bitstream";
}

/// Hides the flags of mlir-opt in --help, except for the most common ones.
static void showUsualFlags(llvm::cl::OptionCategory &category) {
  for (StringRef name :
       {"split-input-file", "verify-diagnostics", "pass-pipeline", "show-dialects", "list-passes",
        "mlir-print-ir-after-all", "mlir-print-ir-after-change", "mlir-print-ir-after", "mlir-print-ir-before",
        "mlir-print-debuginfo", "mlir-use-nameloc-as-prefix", "mlir-elide-elementsattrs-if-larger", "mlir-timing",
        "remark-format", "remarks-filter", "load-pass-plugin", "mlir-pass-pipeline-crash-reproducer"})
    if (llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name))
      option->Categories.assign(1, &category);
  cs336::hideOtherFlags({&category});
}

/// Prints the project's passes and pipelines with their options. They are values of one flag, which lists all of MLIR's
/// passes too.
static void printPasses() {
  SmallVector<StringRef> names;
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (!option->hasArgStr() && (name.contains("cs336") || name.starts_with("exec-")))
      names.push_back(name);
  llvm::sort(names);
  constexpr size_t kIndent = 2;
  auto print = [&](StringRef title, auto lookup) {
    SmallVector<const PassRegistryEntry *> entries;
    for (StringRef name : names)
      if (const PassRegistryEntry *entry = lookup(name))
        entries.push_back(entry);
    // MLIR pads each name to the column of the descriptions, and does not check that it ends before.
    size_t longest = 0;
    for (const PassRegistryEntry *entry : entries)
      longest = std::max(longest, entry->getOptionWidth());
    llvm::outs() << "\n" << title << ":\n\n";
    for (const PassRegistryEntry *entry : entries)
      entry->printHelpStr(kIndent, kIndent + longest + 4);
  };
  print("Pipelines", [](StringRef name) -> const PassRegistryEntry * { return PassPipelineInfo::lookup(name); });
  print("Passes", [](StringRef name) -> const PassRegistryEntry * { return PassInfo::lookup(name); });
}

LogicalResult cs336::optMain(int argc, char **argv, llvm::function_ref<void(DialectRegistry &)> registerMore) {
  DialectRegistry registry;
  registerAllDialects(registry);
  if (registerMore)
    registerMore(registry);
  registerAllPasses();
  llvm::cl::opt<bool> passStatistics("pass-statistics",
                                     llvm::cl::desc("Print what each pass of cs336 counted. Replaces "
                                                    "--mlir-pass-statistics, which prints nothing with Debian's MLIR"));
  registerCLIOptions("", registry);
  llvm::cl::OptionCategory category("cs336-opt", "Every flag of mlir-opt works too: --help-hidden lists all.");
  passStatistics.addCategory(category);
  showUsualFlags(category);
  printLocationsByDefault();
  if (llvm::is_contained(llvm::ArrayRef(argv, argc).drop_front(), llvm::StringRef("--help"))) {
    parseCLIOptions(1, argv, kOverview);
    llvm::cl::PrintHelpMessage(/*Hidden=*/false, /*Categorized=*/true);
    printPasses();
    return success();
  }
  auto [inputFile, outputFile] = parseCLIOptions(argc, argv, kOverview);
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
