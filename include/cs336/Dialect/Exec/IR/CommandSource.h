//===- CommandSource.h - The part of the model that a command comes from -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_COMMANDSOURCE_H
#define CS336_DIALECT_EXEC_IR_COMMANDSOURCE_H

#include "cs336/Dialect/Exec/IR/ExecDialect.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace cs336::exec {

/// Returns the path of the model's operation that `loc` names, without its phase: "layers.0.attn.q_proj" for
/// `loc("backward"(loc("layers.0.attn.q_proj")))`. Returns "" if the location has no name. Returns the first part with
/// a name if the location is fused.
llvm::StringRef getSourcePath(mlir::Location loc);

/// Returns the last component of the path ("q_proj").
llvm::StringRef getSourceName(mlir::Location loc);

/// Returns `loc` as text for people: its path and file position.
std::string printLocation(mlir::Location loc);

namespace detail {
/// Returns the location's phase, or prepare in an entry of that mode.
CommandPhase getCommandPhase(mlir::Operation *command);
/// Returns the operation's mnemonic and its source's name: "gemm_q_proj".
std::string getDefaultCommandName(mlir::Operation *command);
} // namespace detail

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_IR_COMMANDSOURCE_H
