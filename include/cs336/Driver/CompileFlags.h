//===- CompileFlags.h - Command-line flags of compilation -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_COMPILEFLAGS_H
#define CS336_DRIVER_COMPILEFLAGS_H

#include "cs336/Driver/CompileModule.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cs336 {

/// `--pipeline-options`, `--cpu`, `--dump-dir`, `--timing` and `--pass-statistics` of the tools that compile.
class CompileFlags {
public:
  CompileFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand)
      : pipeline("pipeline-options",
                 llvm::cl::desc("Options of --cs336-pipeline, which cs336-opt --help lists: 'dtype=bf16'"),
                 llvm::cl::value_desc("options"), llvm::cl::cat(category), llvm::cl::sub(subcommand)),
        dumpDir(
            "dump-dir",
            llvm::cl::desc("Folder for the IR after every pass, the planned program, its memory plan, and the kernels "
                           "as linalg and as machine code"),
            llvm::cl::value_desc("folder"), llvm::cl::cat(category), llvm::cl::sub(subcommand)),
        cpu("cpu",
            llvm::cl::desc("Instruction set of the kernels: host (default), generic, x86-64-v2, x86-64-v3, x86-64-v4"),
            llvm::cl::value_desc("name"), llvm::cl::init("host"), llvm::cl::cat(category), llvm::cl::sub(subcommand)),
        timing("timing", llvm::cl::desc("Print how long each phase of compilation took"), llvm::cl::cat(category),
               llvm::cl::sub(subcommand)),
        passStatistics("pass-statistics", llvm::cl::desc("Print what each pass counted"), llvm::cl::cat(category),
                       llvm::cl::sub(subcommand)) {}

  /// Calls `function` with the options that the flags describe, and prints the timing, if asked for, once it returns.
  template <typename Function>
  auto compile(Function &&function) const {
    mlir::DefaultTimingManager manager;
    manager.setEnabled(timing);
    mlir::TimingScope root = manager.getRootScope();
    CompileOptions options;
    options.pipeline = pipeline;
    options.cpu = cpu;
    options.dumpDir = dumpDir;
    options.timing = &root;
    if (passStatistics)
      options.passStatistics = &llvm::errs();
    return function(options);
  }

private:
  llvm::cl::opt<std::string> pipeline;
  llvm::cl::opt<std::string> dumpDir;
  llvm::cl::opt<std::string> cpu;
  llvm::cl::opt<bool> timing;
  llvm::cl::opt<bool> passStatistics;
};

} // namespace cs336

#endif // CS336_DRIVER_COMPILEFLAGS_H
