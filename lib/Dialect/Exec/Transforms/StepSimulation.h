//===- StepSimulation.h - Predicted time of an order ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_EXEC_TRANSFORMS_STEPSIMULATION_H
#define CS336_LIB_DIALECT_EXEC_TRANSFORMS_STEPSIMULATION_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

namespace cs336::exec {

/// Predicts how long an entry runs if its commands have another order.
///
/// One stream runs the collectives that communicate, and another one runs all other commands, each in order. A command
/// starts after the earlier commands that it depends on: both access the same storage, and one of them writes it. Times
/// of commands have the rates of the default GPU (`getDefaultDeviceModel`), apart from gathers by copy engines: those
/// of two ranks, and those before the last GEMM.
class StepSimulation {
public:
  /// Memory has `linkRatio` times the bandwidth of gathers by copy engines.
  StepSimulation(EntryOp entry, llvm::ArrayRef<CommandOpInterface> commands, double linkRatio);

  /// Returns the seconds from the start of the first command to the end of the last one. `order` has positions of
  /// commands, each at most once.
  double run(llvm::ArrayRef<unsigned> order) const;

private:
  struct Command {
    /// Before and after the last GEMM.
    double seconds, secondsAfterGemms;
    bool communicates, isGemm;
    /// Numbers of pieces of storage.
    llvm::SmallVector<unsigned, 4> reads, writes;
  };
  llvm::SmallVector<Command> commands;
  unsigned numStorages = 0, numGemms = 0;
};

} // namespace cs336::exec

#endif // CS336_LIB_DIALECT_EXEC_TRANSFORMS_STEPSIMULATION_H
