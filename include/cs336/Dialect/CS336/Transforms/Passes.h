//===- Passes.h - Passes over the cs336 dialect -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_PASSES_H
#define CS336_DIALECT_CS336_TRANSFORMS_PASSES_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/IR/TableBlocks.h"
#include "cs336/Dialect/CS336/Transforms/Training/BucketSize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace cs336 {

/// The type to which autocast lowers the precision of matmuls.
enum class AutocastType { BF16, FP16, TF32 };

/// The optimizer at the end of a training step.
enum class OptimizerKind { AdamW };

/// The position of the exchange of gradients between ranks, the number of gradients per exchange, and whether ranks
/// store parts of parameters.
enum class DistributeMode { PerParameter, Flat, Overlap, Bucket, Zero1, FSDP };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"

} // namespace cs336

#endif // CS336_DIALECT_CS336_TRANSFORMS_PASSES_H
