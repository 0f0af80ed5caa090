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

struct CompileOptions {
  /// What the text after `--cs336-pipeline=` would say, e.g. "dtype=bf16"; empty takes every default.
  std::string pipeline;
  /// The kind of device that the program is for. It sets the pipeline's option `target`.
  Target target = Target::CPU;
  /// CPU: the instruction set of kernels: "host", "generic", or "x86-64-v2" to "x86-64-v4".
  std::string cpu = "host";
  /// CUDA: the architectures that kernels get machine code for: "sm_80", "sm_90a".
  std::vector<std::string> architectures = {"sm_90a"};
  /// Folder that keeps executables and, for CUDA, machine code between runs, see ExecutableCache and CubinCache; empty
  /// for none.
  std::string cacheFolder = runtime::CacheFolder();
  /// Where to write the IR after every pass, the plan, and the kernels' text and machine code; made if it is missing.
  /// Empty for nowhere.
  std::string dumpDir;
  /// Where the time of each phase goes; may be null.
  mlir::TimingScope *timing = nullptr;
  /// Where the table of what each pass counted goes; may be null.
  llvm::raw_ostream *passStatistics = nullptr;
};

/// Runs the pipeline on what is not planned yet: a module that already holds planned entries is left as it is.
llvm::LogicalResult runPipeline(mlir::ModuleOp module, const CompileOptions &options);

/// The bytes of an executable (a .cs336x file) for the module, which ends as planned exec IR, or as it was where the
/// executable is in the cache. The module's context must have been made from a registry with `registerDialects`. Fails
/// with diagnostics.
llvm::FailureOr<std::vector<uint8_t>> compileModule(mlir::ModuleOp module, const CompileOptions &options);

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_COMPILEMODULE_H
