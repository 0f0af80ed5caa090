//===- WidenedGradient.cpp - Gradients before they are widened -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WidenedGradient.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

using namespace mlir;
using namespace cs336;

Value cs336::skipExtension(Value gradient) {
  auto cast = gradient.getDefiningOp<CastOp>();
  auto from = cast ? dyn_cast<FloatType>(cast.getOperand().getType().getElementType()) : FloatType();
  auto to = cast ? dyn_cast<FloatType>(cast.getType().getElementType()) : FloatType();
  return from && to && from.getWidth() < to.getWidth() ? Value(cast.getOperand()) : gradient;
}
