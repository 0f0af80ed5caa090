//===- Differentiation.h - The pipeline until gradients exist ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PIPELINES_DIFFERENTIATION_H
#define CS336_PIPELINES_DIFFERENTIATION_H

#include "cs336/Pipelines/Pipelines.h"

namespace cs336 {

/// The start of `buildPipeline`: from a model's functions to functions with gradients, before anything is recomputed.
/// Fails as `buildPipeline`.
llvm::LogicalResult buildDifferentiation(mlir::OpPassManager &manager, const PipelineOptions &options,
                                         PipelineError error);

} // namespace cs336

#endif // CS336_PIPELINES_DIFFERENTIATION_H
