//===- ExecIndexOps.h - Commands that check indices -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECINDEXOPS_H
#define CS336_DIALECT_EXEC_IR_EXECINDEXOPS_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

#define GET_OP_CLASSES
#include "cs336/Dialect/Exec/IR/ExecIndexOps.h.inc"

#endif // CS336_DIALECT_EXEC_IR_EXECINDEXOPS_H
