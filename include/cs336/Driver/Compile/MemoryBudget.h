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
};

/// Returns the smallest share, in steps of 1/1024, with which the program needs at most `budget` bytes. If it needs
/// more with the shares 0 and 1, returns the one with which it needs less: recomputing can take more memory than
/// keeping. Runs the pipeline up to 12 times on copies of the module, without generating code. A larger budget never
/// gives a larger share. Fails with diagnostics if the pipeline does.
llvm::FailureOr<Recomputation> findRecomputation(mlir::ModuleOp module, const CompileOptions &options, int64_t budget);

/// The effect of a memory budget on a compilation.
struct BudgetFit {
  /// The options without the budget, and with the recomputation that fits it.
  CompileOptions options;
  /// "memory budget 1KiB: the program requires at least …" if no recomputation fits; empty otherwise.
  std::string whyNot;
};

/// Replaces the pipeline's option `memory-budget`, if it is set, by the `selective-checkpoint` that fits it, or returns
/// the reason why none does. Fails with a diagnostic if the option is invalid.
llvm::FailureOr<BudgetFit> findBudgetFit(mlir::ModuleOp module, const CompileOptions &options);

/// Returns the options of `findBudgetFit`. Also fails with a diagnostic if no recomputation fits.
llvm::FailureOr<CompileOptions> fitMemoryBudget(mlir::ModuleOp module, const CompileOptions &options);

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_MEMORYBUDGET_H
