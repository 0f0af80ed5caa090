//===- ExecOps.td - All operations of the dialect -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECOPS_TD
#define CS336_DIALECT_EXEC_IR_EXECOPS_TD

include "cs336/Dialect/Exec/IR/ExecBufferOps.td"
include "cs336/Dialect/Exec/IR/ExecCommandOps.td"
include "cs336/Dialect/Exec/IR/ExecModuleOps.td"

#endif // CS336_DIALECT_EXEC_IR_EXECOPS_TD
