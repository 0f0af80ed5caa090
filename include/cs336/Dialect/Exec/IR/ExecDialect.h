//===- ExecDialect.h - The exec dialect -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECDIALECT_H
#define CS336_DIALECT_EXEC_IR_EXECDIALECT_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/IR/Dialect.h"

#include "cs336/Dialect/Exec/IR/ExecDialect.h.inc"
#include "cs336/Dialect/Exec/IR/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "cs336/Dialect/Exec/IR/ExecAttributes.h.inc"

#endif // CS336_DIALECT_EXEC_IR_EXECDIALECT_H
