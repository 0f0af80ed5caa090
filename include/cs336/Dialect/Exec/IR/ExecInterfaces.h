//===- ExecInterfaces.h - Interfaces for planning and emission --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECINTERFACES_H
#define CS336_DIALECT_EXEC_IR_EXECINTERFACES_H

#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Dialect/Exec/IR/ExecDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>

#include "cs336/Dialect/Exec/IR/ExecInterfaces.h.inc"

#endif // CS336_DIALECT_EXEC_IR_EXECINTERFACES_H
