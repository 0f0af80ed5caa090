//===- ExecOps.h - Operations of the exec dialect -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECOPS_H
#define CS336_DIALECT_EXEC_IR_EXECOPS_H

#include "cs336/Dialect/CS336/IR/Collectives.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/IR/ExecDialect.h"
#include "cs336/Dialect/Exec/IR/ExecInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "cs336/Dialect/Exec/IR/ExecOps.h.inc"

#endif // CS336_DIALECT_EXEC_IR_EXECOPS_H
