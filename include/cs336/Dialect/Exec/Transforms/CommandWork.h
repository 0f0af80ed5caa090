//===- CommandWork.h - FLOPs and bytes of commands --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_COMMANDWORK_H
#define CS336_DIALECT_EXEC_TRANSFORMS_COMMANDWORK_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "mlir/IR/SymbolTable.h"

namespace cs336::exec {

/// The work of commands. FLOPs are those of GEMMs (a multiply-add counts as two) and of the operations of kernels (see
/// `CostOpInterface`). Bytes are those of the buffers that commands read and write, each element once per command. An
/// embedding reads at most one row of its table per index. Workspaces are not counted.
struct Work {
  int64_t launches = 0, gemms = 0;
  /// Copies and collectives. Events are not counted.
  int64_t others = 0;
  double flops = 0, bytes = 0;

  int64_t getCommands() const { return launches + gemms + others; }
  void operator+=(const Work &other);
};

/// The type in which a command computes most of its FLOPs, and the precision of multiplications if this type is
/// float32.
struct Arithmetic {
  mlir::Type elementType;
  Precision precision = Precision::IEEE;
};

/// Computes the work of an entry's commands. Each kernel is counted once.
class WorkCounter {
public:
  explicit WorkCounter(EntryOp entry) : symbols(entry->getParentOp()) {}

  /// Returns no work for commands that record or await an event.
  Work measure(CommandOpInterface command);

  /// Returns a null type for a command without FLOPs.
  Arithmetic getArithmetic(CommandOpInterface command);

private:
  struct KernelCost {
    double flops = 0;
    Arithmetic arithmetic;
  };
  const KernelCost &getCost(LaunchOp launch);

  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, KernelCost> kernels;
};

/// Returns the workspace of the command, or null.
mlir::Value getWorkspace(mlir::Operation *command);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_COMMANDWORK_H
