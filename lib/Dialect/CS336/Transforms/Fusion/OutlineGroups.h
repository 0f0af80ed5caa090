//===- OutlineGroups.h - Groups become operations ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_OUTLINEGROUPS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_OUTLINEGROUPS_H

#include "FusionGroups.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"

namespace cs336 {

/// Replaces each group that makes a kernel of several operations with `cs336.fused`, at the position of the group's
/// last operation. Sorts the block, so that users follow the group, and erases dead operations. Calls `onFused` for
/// each `cs336.fused` with its group.
void outlineGroups(mlir::Block &block, const FusionRoles &roles, const FusionGroups &groups,
                   llvm::function_ref<void(FusedOp, const FusionGroup &)> onFused);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_OUTLINEGROUPS_H
