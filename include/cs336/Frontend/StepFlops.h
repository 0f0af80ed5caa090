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

/// FLOPs of the matrix products of one step, as studies count them: a multiply-add is two, causal attention counts
/// half of its scores, backward is twice forward for linears and 2.5 times for attention. Norms, activations, softmax
/// and the optimizer are left out.
double getModelFlops(const TransformerConfig &config, Mode mode);

} // namespace cs336

#endif // CS336_FRONTEND_STEPFLOPS_H
