//===- RecomputationSteps.cpp - Shares of recomputation -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/Transforms/Memory/RecomputationSteps.h"

#include "RecomputableBlocks.h"
#include "RecomputationLadder.h"

#include <algorithm>
#include <cmath>

using namespace cs336;

size_t RecomputationSteps::getSteps(double share) const {
  constexpr double kRounding = 1e-3;
  return static_cast<size_t>(std::max(0.0, std::ceil(share * static_cast<double>(getNumber()) - kRounding)));
}

RecomputationSteps cs336::findRecomputationSteps(mlir::func::FuncOp function) {
  std::optional<RecomputableBlocks> found;
  if (!function.isExternal())
    found = RecomputableBlocks::find(function, RemarkOptions("cs336-selective-checkpoint"));
  if (!found)
    return {};
  return {RecomputationLadder(found->blocks, found->forward).getNumRungs(), found->blocks.size()};
}
