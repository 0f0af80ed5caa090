//===- CompileFlags.h - Command-line flags of compilation -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_COMPILEFLAGS_H
#define CS336_DRIVER_COMPILEFLAGS_H

#include "cs336/Driver/CompileModule.h"
#include "cs336/Driver/DeviceFlag.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cs336 {

/// `--arch`, `--cpu`, `--pipeline-options`, `--no-cache`, `--dump-dir`, `--timing` and `--pass-statistics`
/// of the tools that compile.
class CompileFlags {
public:
  CompileFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand)
      : pipeline("pipeline-options",
                 llvm::cl::desc("Options of --cs336-pipeline, which cs336-opt --help lists: 'dtype=bf16'"),
                 llvm::cl::value_desc("options"), llvm::cl::cat(category), llvm::cl::sub(subcommand)),
        cpu("cpu",
            llvm::cl::desc("Instruction set of kernels on the CPU: host (default), generic, x86-64-v2, x86-64-v3, "
                           "x86-64-v4"),
            llvm::cl::value_desc("name"), llvm::cl::init("host"), llvm::cl::cat(category), llvm::cl::sub(subcommand)),
        architectures("arch",
                      llvm::cl::desc("Architectures of kernels on GPUs (default: that of the GPU, sm_90a without one)"),
                      llvm::cl::value_desc("sm_90a,..."), llvm::cl::CommaSeparated, llvm::cl::cat(category),
                      llvm::cl::sub(subcommand)),
        noCache("no-cache", llvm::cl::desc("Neither take compiled GPU kernels from the cache nor keep them there"),
                llvm::cl::cat(category), llvm::cl::sub(subcommand)),
        dumpDir(
            "dump-dir",
            llvm::cl::desc("Folder for the IR after every pass, the planned program, its memory plan, and the kernels "
                           "as linalg, as text and as machine code"),
            llvm::cl::value_desc("folder"), llvm::cl::cat(category), llvm::cl::sub(subcommand)),
        timing("timing", llvm::cl::desc("Print how long each phase of compilation took"), llvm::cl::cat(category),
               llvm::cl::sub(subcommand)),
        passStatistics("pass-statistics", llvm::cl::desc("Print what each pass counted"), llvm::cl::cat(category),
                       llvm::cl::sub(subcommand)) {}

  /// Calls `function` with the options that the flags describe for the device, and prints the timing, if asked for,
  /// once it returns.
  template <typename Function>
  auto compile(runtime::DeviceId device, Function &&function) const {
    mlir::DefaultTimingManager manager;
    manager.setEnabled(timing);
    mlir::TimingScope root = manager.getRootScope();
    CompileOptions options;
    options.pipeline = pipeline;
    options.target = getTarget(device);
    options.cpu = cpu;
    options.architectures = architectures.empty()
                                ? getArchitectures(device)
                                : std::vector<std::string>(architectures.begin(), architectures.end());
    if (noCache)
      options.cacheFolder.clear();
    options.dumpDir = dumpDir;
    options.timing = &root;
    if (passStatistics)
      options.passStatistics = &llvm::errs();
    return function(options);
  }

private:
  llvm::cl::opt<std::string> pipeline;
  llvm::cl::opt<std::string> cpu;
  llvm::cl::list<std::string> architectures;
  llvm::cl::opt<bool> noCache;
  llvm::cl::opt<std::string> dumpDir;
  llvm::cl::opt<bool> timing;
  llvm::cl::opt<bool> passStatistics;
};

} // namespace cs336

#endif // CS336_DRIVER_COMPILEFLAGS_H
