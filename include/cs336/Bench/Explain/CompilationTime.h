//===- CompilationTime.h - Time and cache of a compilation -------*- C++ -*===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_EXPLAIN_COMPILATIONTIME_H
#define CS336_BENCH_EXPLAIN_COMPILATIONTIME_H

#include "cs336/Bench/Explain/ModuleKernels.h"
#include "cs336/Bench/Report/Table.h"
#include "cs336/Driver/Compile/CompileProfile.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// All runs of one pass, or of one phase.
struct PassTimes {
  std::string name;
  int64_t runs = 0;
  double seconds = 0;
};

/// The machine code of a kernel.
struct KernelTime {
  CachedKernel kernel;
  /// The time of NVRTC; 0 for code from the cache.
  double seconds = 0;
};

/// The time of a compilation.
struct CompilationTime {
  /// The phases, and the parts of the phase "kernels", in order: "pipeline", "kernels", "kernels: Load NVRTC".
  std::vector<PassTimes> phases;
  /// The passes of the pipeline, in decreasing order of time. All passes with one name are one row.
  std::vector<PassTimes> passes;
  /// Kernels of GPUs, in decreasing order of time.
  std::vector<KernelTime> kernels;

  int64_t countCacheHits() const;
};

/// Summarizes the timers that a compilation recorded.
CompilationTime summarizeCompilation(llvm::ArrayRef<TimedPhase> phases, llvm::ArrayRef<CachedKernel> kernels);

/// Returns the tables "compile-phases", "compile-passes" and, for GPUs, "compile-kernels".
std::vector<Table> makeCompileTables(const CompilationTime &time);

/// Returns the tables as an object for JSON.
llvm::json::Object toJSON(const CompilationTime &time);

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_COMPILATIONTIME_H
