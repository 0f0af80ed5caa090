//===- TableBlocks.h - Blocks of the gradients of tables --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_TABLEBLOCKS_H
#define CS336_DIALECT_CS336_IR_TABLEBLOCKS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace cs336 {

/// An attribute of `cs336.attention`: the most bytes of the scores that the gradients of its tables compute at once, an
/// i64 of at least 1. A block has at least one row of scores.
constexpr llvm::StringLiteral kTableBlockBytesAttr = "cs336.table_block_bytes";
constexpr int64_t kDefaultTableBlockBytes = int64_t(128) << 20;

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_TABLEBLOCKS_H
