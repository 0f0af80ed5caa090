//===- ExactIntegers.h - Integer arithmetic that never wraps ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CODEGEN_EXACTINTEGERS_H
#define CS336_LIB_CODEGEN_EXACTINTEGERS_H

#include "mlir/IR/Block.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace cs336 {

/// Marks the integer arithmetic of a block (sums, differences, multiplications) as `overflow<nsw>` if its exact result
/// always fits into its type. Targets may compute the others, which wrap around, in unsigned numbers only: signed
/// overflow is undefined in C++.
///
/// `getRange` returns the range of a value that no arithmetic of the block computes, such as an argument or a loop's
/// index; an empty result is any integer.
void markExactIntegers(mlir::Block &block,
                       llvm::function_ref<std::optional<mlir::ConstantIntRanges>(mlir::Value)> getRange);

} // namespace cs336

#endif // CS336_LIB_CODEGEN_EXACTINTEGERS_H
