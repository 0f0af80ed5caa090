//===- CompileFlags.h - Command-line flags of compilation -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_COMPILEFLAGS_H
#define CS336_DRIVER_FLAGS_COMPILEFLAGS_H

#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Driver/Compile/OutputPaths.h"
#include "cs336/Driver/Flags/DeviceFlag.h"
#include "cs336/Driver/Flags/FlagParsers.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/status/status.h"

#include <memory>

namespace cs336 {

/// One of the compilations that flags describe.
struct PipelineVariant {
  /// Of `--cs336-pipeline`.
  std::string options;
  /// Of a ladder: the pass that this rung adds ("none" at its foot), and the type at its top. Empty without one.
  std::string added, ladder;

  /// Whether `type`, which it computes in, is the type at the top of its ladder; without one, any is.
  bool isTopType(ComputeType type) const { return ladder.empty() || ladder == stringifyComputeType(type); }
};

/// `--dtype`, `--fusion`, `--ladder`, `--checkpoint`, `--arch`, `--cpu`, `--pipeline-options`, `--no-cache`,
/// `--dump-dir`, `--timing` and `--pass-statistics` of the tools that compile.
class CompileFlags {
public:
  /// How many values `--dtype` and `--fusion` take: a tool that sweeps takes lists with commas, and has `--ladder`.
  enum class Sweep { No, Yes };

  CompileFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand, Sweep sweep = Sweep::No);

  /// INVALID_ARGUMENT for flags that would do nothing: `--fusion` beside `--ladder`, an option of `--pipeline-options`
  /// that another flag sets too, and `--arch` for the CPU or without a name.
  absl::Status check(runtime::DeviceId device) const;

  /// INVALID_ARGUMENT if two of a tool's other outputs, or one of them and a file that `--dump-dir` writes, are one
  /// file.
  absl::Status checkOutputs(llvm::ArrayRef<OutputPath> outputs) const;

  /// INVALID_ARGUMENT for flags of machine code, for a tool that makes none: `--arch`, `--cpu` and `--no-cache`.
  absl::Status checkWithoutCode() const;

  /// Every combination of `--dtype` and `--fusion`, the last varying fastest; or, with `--ladder`, every type's ladder.
  /// Without a sweep there is one.
  std::vector<PipelineVariant> getPipelines() const;

  /// Calls `function` with the options that the flags describe for the device, the pipeline's being the last of
  /// `getPipelines`, and prints the timing, if asked for, once it returns.
  template <typename Function>
  auto compile(runtime::DeviceId device, Function &&function) const {
    mlir::DefaultTimingManager manager;
    manager.setEnabled(timing);
    mlir::TimingScope root = manager.getRootScope();
    CompileOptions options;
    options.pipeline = getPipelines().back().options;
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
  absl::Status checkPipelineOptions() const;

  llvm::cl::list<ComputeType> dtypes;
  llvm::cl::list<Fusion> fusions;
  /// Null without a sweep.
  std::unique_ptr<llvm::cl::opt<bool>> ladder;
  llvm::cl::opt<unsigned> checkpoint;
  llvm::cl::opt<std::string> pipeline;
  TextFlag cpu;
  llvm::cl::list<std::string> architectures;
  llvm::cl::opt<bool> noCache;
  TextFlag dumpDir;
  llvm::cl::opt<bool> timing;
  llvm::cl::opt<bool> passStatistics;
};

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_COMPILEFLAGS_H
