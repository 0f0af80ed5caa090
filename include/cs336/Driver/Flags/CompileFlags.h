//===- CompileFlags.h - Command-line flags of compilation -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_COMPILEFLAGS_H
#define CS336_DRIVER_FLAGS_COMPILEFLAGS_H

#include "cs336/Driver/Compile/Autotuner.h"
#include "cs336/Driver/Compile/OutputPaths.h"
#include "cs336/Driver/Flags/DeviceFlag.h"
#include "cs336/Driver/Flags/DistributeFlags.h"
#include "cs336/Driver/Flags/FlagParsers.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/status/status.h"

#include <functional>
#include <memory>

namespace cs336 {

/// One of the pipelines that the flags select.
struct PipelineVariant {
  /// The options of `--cs336-pipeline`.
  std::string options;
  /// With a ladder: the pass that this rung adds ("none" for the lowest), and the compute type of the highest rung.
  /// Empty without a ladder.
  std::string added, ladder;

  /// Returns whether `type`, the pipeline's compute type, is that of the highest rung. Without a ladder every type is.
  bool isTopType(ComputeType type) const { return ladder.empty() || ladder == stringifyComputeType(type); }
};

/// `--dtype`, `--fusion`, `--ladder`, `--checkpoint`, `--memory-budget`, `--arch`, `--cpu`, `--pipeline-options`,
/// `--no-cache`, `--dump-dir`, `--timing`, `--remarks-filter` and `--pass-statistics` of the tools that compile.
class CompileFlags {
public:
  /// The values that `--dtype` and `--fusion` accept: only one, or lists with commas. Tools that accept lists also have
  /// `--ladder`. Tools that compile whole steps also accept lists of `--checkpoint` and `--memory-budget`.
  enum class Sweep { No, Yes, WithCheckpoints };

  /// `distribute` adds its options to every pipeline. It must outlive this object; null stands for one rank.
  CompileFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand, Sweep sweep = Sweep::No,
               const DistributeFlags *distribute = nullptr);

  /// Returns INVALID_ARGUMENT for flags without an effect: `--fusion` with `--ladder`, an option of
  /// `--pipeline-options` that another flag sets too, `--memory-budget` beside `--checkpoint`, `--arch` for the CPU
  /// or without a name, and `--autotune` for the CPU, beside `--arch` or `--no-cache`. Returns the GPU's error if
  /// `--autotune` cannot use it.
  absl::Status check(runtime::DeviceId device) const;

  /// Returns INVALID_ARGUMENT if two of a tool's other outputs are the same file, or if one of them is a file that
  /// `--dump-dir` writes.
  absl::Status checkOutputs(llvm::ArrayRef<OutputPath> outputs) const;

  /// Returns INVALID_ARGUMENT for flags of machine code, in a tool that does not generate it: `--arch`, `--cpu`,
  /// `--no-cache` and `--autotune`.
  absl::Status checkWithoutCode() const;

  /// Returns INVALID_ARGUMENT with the reason if `--checkpoint` is given, where it has no effect.
  absl::Status refuseCheckpoint(llvm::StringRef reason) const;

  /// Return whether the flag is given: `--checkpoint`, `--memory-budget`.
  bool setsCheckpoint() const { return !checkpoints.empty(); }
  bool setsMemoryBudget() const { return !memoryBudgets.empty(); }

  /// Returns whether schedules are tuned.
  bool tunesSchedules() const { return autotune; }

  /// Sets the function that ends `--autotune` by returning CANCELLED. Without it, only a signal ends it.
  void setInterruption(std::function<absl::Status()> check) { interruption = std::move(check); }

  /// Returns every combination of `--dtype`, `--fusion` and `--checkpoint` or `--memory-budget`, the last varying
  /// fastest. With `--ladder`, every type's ladder replaces `--dtype` and `--fusion`. Without a sweep there is one
  /// pipeline.
  std::vector<PipelineVariant> getPipelines() const;

  /// Calls `function` with the options that the flags describe for the device and the last pipeline of `getPipelines`.
  /// Prints the timing, if requested, when `function` returns.
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
    // If the memory of the device is unknown, check() has reported the error.
    if (llvm::is_contained(memoryBudgets, kAuto))
      options.deviceMemoryBytes = getMemoryBudget(device).value_or(0);
    options.timing = &root;
    options.remarks = remarks;
    if (passStatistics)
      options.passStatistics = &llvm::errs();
    std::unique_ptr<Autotuner> tuner = createAutotuner(device, options.cacheFolder);
    options.autotuner = tuner.get();
    return function(options);
  }

private:
  static constexpr llvm::StringLiteral kAuto = "auto";

  absl::Status checkPipelineOptions() const;
  absl::Status checkMemoryBudget(runtime::DeviceId device) const;
  absl::Status checkAutotune(runtime::DeviceId device) const;
  /// Returns null without `--autotune`.
  std::unique_ptr<Autotuner> createAutotuner(runtime::DeviceId device, const std::string &cacheFolder) const;
  /// Returns the options of flags with one value, beside those that may have several.
  std::vector<FlagOption> getSingleOptions() const;

  /// Null if the tool has no such flags.
  const DistributeFlags *distribute;
  ListFlag<ComputeType> dtypes;
  ListFlag<Fusion> fusions;
  /// Null without a sweep.
  std::unique_ptr<llvm::cl::opt<bool>> ladder;
  ListFlag<unsigned> checkpoints;
  ListFlag<std::string> memoryBudgets;
  llvm::cl::opt<std::string> pipeline;
  TextFlag cpu;
  ListFlag<std::string> architectures;
  llvm::cl::opt<bool> noCache;
  llvm::cl::opt<bool> autotune;
  TextFlag dumpDir;
  llvm::cl::opt<bool> timing;
  TextFlag remarks;
  llvm::cl::opt<bool> passStatistics;
  std::function<absl::Status()> interruption = [] { return absl::OkStatus(); };
};

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_COMPILEFLAGS_H
