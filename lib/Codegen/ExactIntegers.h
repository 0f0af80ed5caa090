//===- ExactIntegers.h - Integer arithmetic that never wraps ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CODEGEN_EXACTINTEGERS_H
#define CS336_LIB_CODEGEN_EXACTINTEGERS_H

#include "cs336/Dialect/CS336/IR/IntegerRanges.h"
#include "mlir/IR/Block.h"

namespace cs336 {

/// Marks the integer arithmetic of a block (sums, differences, multiplications) as `overflow<nsw>` if `ranges` show
/// that its exact result fits into its type. Other integer arithmetic wraps around. A target whose language leaves the
/// overflow of signed integers undefined, such as CUDA C++, must compute it with unsigned integers.
void markExactIntegers(mlir::Block &block, IntegerRanges &ranges);

} // namespace cs336

#endif // CS336_LIB_CODEGEN_EXACTINTEGERS_H
