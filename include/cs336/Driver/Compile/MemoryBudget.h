//===- MemoryBudget.h - Recomputation that fits a budget --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_COMPILE_MEMORYBUDGET_H
#define CS336_DRIVER_COMPILE_MEMORYBUDGET_H

#include "cs336/Driver/Compile/CompileModule.h"

#include <cstdint>

namespace cs336 {

/// The share of activations that the backward pass computes again, and the memory of the program with this share.
struct Recomputation {
  /// The option `selective-checkpoint`, from 0 to 1.
  double share = 0;
  /// The memory that a session reserves (format::ReservedMemory).
  int64_t bytes = 0;

  /// Returns "selective-checkpoint=0.25", with enough digits for every share.
  std::string getOption() const;
};

/// Returns a share with which the program needs at most `budget` bytes: the first end of a rung of
/// `--cs336-selective-checkpoint` that fits, or a smaller share found by bisection within this rung. A larger budget
/// never gives a larger share. If no end of a rung fits, returns the one that needs the least memory: recomputing can
/// take more memory than keeping. Runs the pipeline on copies of the module, without generating code: once for share 0,
/// once for each rung that it tries, and a logarithmic number of times in the rung that fits. Fails with diagnostics if
/// the pipeline does.
llvm::FailureOr<Recomputation> findRecomputation(mlir::ModuleOp module, const CompileOptions &options, int64_t budget);

/// The effect of a memory budget on a compilation.
struct BudgetFit {
  /// The options without the budget, and with the recomputation that fits it.
  CompileOptions options;
  /// "memory budget 1KiB: the smallest budget that works is …" if no recomputation fits; empty otherwise.
  std::string whyNot;
};

/// Replaces the pipeline's option `memory-budget`, if it is set, by the `selective-checkpoint` that fits it, or returns
/// the reason why none does. Fails with a diagnostic if the option is invalid.
llvm::FailureOr<BudgetFit> findBudgetFit(mlir::ModuleOp module, const CompileOptions &options);

/// Returns the options of `findBudgetFit`. Also fails with a diagnostic if no recomputation fits.
llvm::FailureOr<CompileOptions> fitMemoryBudget(mlir::ModuleOp module, const CompileOptions &options);

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_MEMORYBUDGET_H
