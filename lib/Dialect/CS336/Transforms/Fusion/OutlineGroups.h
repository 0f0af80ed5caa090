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

/// Replaces groups by `cs336.fused` where that makes a kernel of several operations, orders the block anew, since a
/// group stands where its last operation stood and its users after it, and erases what nothing reads any more. Calls
/// `onFused` on each with its group.
void outlineGroups(mlir::Block &block, const FusionRoles &roles, const FusionGroups &groups,
                   llvm::function_ref<void(FusedOp, const FusionGroup &)> onFused);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_OUTLINEGROUPS_H
