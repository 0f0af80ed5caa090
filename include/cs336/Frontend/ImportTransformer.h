//===- ImportTransformer.h - A model description as IR ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_FRONTEND_IMPORTTRANSFORMER_H
#define CS336_FRONTEND_IMPORTTRANSFORMER_H

#include "cs336/Frontend/ModelDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cs336 {

/// Builds the model's functions as a PyTorch author would write them: attention and softmax are primitives.
///
/// | mode             | functions                                                       |
/// |------------------|-----------------------------------------------------------------|
/// | forward          | @forward(parameters, tokens) -> logits [B, S, V]                |
/// | loss             | @loss(parameters, tokens, targets) -> loss []                   |
/// | forward_backward | @forward_backward: the loss, which passes differentiate           |
/// | train            | @train: the loss, which passes make a step; @loss; @forward     |
///
/// Parameters are in the order of a state_dict and have its names; tokens and targets are i64 [B, S] in [0,
/// vocab_size). The locations of operations name layer and operation: "layers.0.attn.q_proj". The context must have the
/// cs336 and func dialects loaded. Fails with a diagnostic at `loc` if the description is impossible.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importTransformer(const ModelDescription &description,
                                                                     mlir::Location loc);

} // namespace cs336

#endif // CS336_FRONTEND_IMPORTTRANSFORMER_H
