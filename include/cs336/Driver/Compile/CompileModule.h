//===- CompileModule.h - From IR to an executable ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_COMPILE_COMPILEMODULE_H
#define CS336_DRIVER_COMPILE_COMPILEMODULE_H

#include "cs336/Pipelines/Pipelines.h"
#include "cs336/runtime/CacheFolder.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir {
class TimingScope;
} // namespace mlir

namespace cs336 {

class Autotuner;

struct CompileOptions {
  /// The text after `--cs336-pipeline=`, such as "dtype=bf16". Empty for the defaults.
  std::string pipeline;
  /// The target of the program. It sets the pipeline's option `target`.
  Target target = Target::CPU;
  /// CPU: the instruction set of kernels: "host", "generic", or "x86-64-v2" to "x86-64-v4".
  std::string cpu = "host";
  /// CUDA: the architectures to generate machine code for, such as "sm_80" and "sm_90a".
  std::vector<std::string> architectures = {"sm_90a"};
  /// The memory that `memory-budget=auto` stands for, in bytes; 0 if it is unknown.
  int64_t deviceMemoryBytes = 0;
  /// The folder that keeps executables and, for CUDA, machine code between runs. See ExecutableCache and CubinCache.
  /// Empty to keep nothing.
  std::string cacheFolder = runtime::CacheFolder();
  /// The folder for the IR after every pass, the plan, and the kernels' text and machine code. It is created if it does
  /// not exist. Empty to write nothing.
  std::string dumpDir;
  /// Receives the time of each phase. May be null.
  mlir::TimingScope *timing = nullptr;
  /// A regular expression. Remarks of the passes whose names match it become diagnostics. Empty for none.
  std::string remarks;
  /// Receives the table of pass statistics. May be null.
  llvm::raw_ostream *passStatistics = nullptr;
  /// Tunes the schedules of the program's kernels before it is compiled (see `tuneSchedules`). May be null.
  Autotuner *autotuner = nullptr;
};

/// Runs the pipeline on a module that is not planned yet, without autotuning. Does not change modules with planned
/// entries. The option `memory-budget` requires several runs, on copies of the module (see MemoryBudget.h).
llvm::LogicalResult runPipeline(mlir::ModuleOp module, const CompileOptions &options);

/// Returns the bytes of an executable (a .cs336x file) for the module. The module becomes planned exec IR, or stays as
/// it was if the executable is in the cache. Tunes it first if the options have an autotuner. The module's context must
/// be created from a registry with `registerDialects`. Fails with diagnostics.
llvm::FailureOr<std::vector<uint8_t>> compileModule(mlir::ModuleOp module, const CompileOptions &options);

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_COMPILEMODULE_H
