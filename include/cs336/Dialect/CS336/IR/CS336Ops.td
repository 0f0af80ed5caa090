//===- CS336Ops.td - All operations of the dialect -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336OPS_TD
#define CS336_DIALECT_CS336_IR_CS336OPS_TD

include "cs336/Dialect/CS336/IR/CS336AttentionOps.td"
include "cs336/Dialect/CS336/IR/CS336CollectiveOps.td"
include "cs336/Dialect/CS336/IR/CS336CompositeOps.td"
include "cs336/Dialect/CS336/IR/CS336IndexOps.td"
include "cs336/Dialect/CS336/IR/CS336PointwiseOps.td"
include "cs336/Dialect/CS336/IR/CS336SoftmaxOps.td"
include "cs336/Dialect/CS336/IR/CS336TensorOps.td"
include "cs336/Dialect/CS336/IR/CS336TrainingOps.td"

#endif // CS336_DIALECT_CS336_IR_CS336OPS_TD
