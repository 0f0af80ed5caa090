//===- StepFlops.h - Work of one step, from its configuration ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_FRONTEND_STEPFLOPS_H
#define CS336_FRONTEND_STEPFLOPS_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Frontend/TransformerConfig.h"

namespace cs336 {

/// Returns the FLOPs of the matmuls of one step, as published measurements count them: a multiply-add counts as two,
/// causal attention counts half of its scores, and the backward pass counts as 2 forward passes for linears and 2.5 for
/// attention. Norms, activations, softmax and the optimizer are left out.
double getModelFlops(const TransformerConfig &config, Mode mode);

} // namespace cs336

#endif // CS336_FRONTEND_STEPFLOPS_H
