//===- JoinConcats.h - Concatenations of concatenations ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_JOINCONCATS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_JOINCONCATS_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

namespace cs336 {

/// Makes a concatenation the direct user of the concatenations among its operands, by moving the reshapes and
/// transpositions between them below it. An example is the gradient of a packed projection, which is concatenated from
/// the pairs of rotary embedding.
///
///     concat axis 2 (reshape [B,S,H·D] (transpose [B,S,H,D] (reshape [B,H,S,D] (concat axis 4 (even, odd)))), …)
///       → reshape [B,S,3H·D] (concat axis 2 (concat axis 4 (transpose(even), transpose(odd)), …))
///
/// The replaced operations are dead afterwards. Returns whether anything changed.
bool joinConcats(ConcatOp outer);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_JOINCONCATS_H
