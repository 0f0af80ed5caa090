//===- TestDialect.h - A dialect that only tests have -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_LIB_DIALECT_TEST_TESTDIALECT_H
#define CS336_TEST_LIB_DIALECT_TEST_TESTDIALECT_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "mlir/IR/DialectRegistry.h"

#include "TestDialect.h.inc"

#define GET_OP_CLASSES
#include "TestOps.h.inc"

namespace cs336::test {

/// Operations outside the compiler, which implement its interfaces.
void registerTestDialect(mlir::DialectRegistry &registry);

/// Passes that only tests need: `--test-inline-groups`.
void registerTestPasses();

} // namespace cs336::test

#endif // CS336_TEST_LIB_DIALECT_TEST_TESTDIALECT_H
