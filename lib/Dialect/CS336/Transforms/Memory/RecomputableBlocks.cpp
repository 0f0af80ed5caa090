//===- RecomputableBlocks.cpp - Layers to compute again -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputableBlocks.h"

#include "ForwardOperations.h"

using namespace mlir;
using namespace cs336;

std::optional<RecomputableBlocks> RecomputableBlocks::find(func::FuncOp function, const RemarkOptions &remarkOptions) {
  if (!mayComputeAgain(function, remarkOptions))
    return std::nullopt;
  SmallVector<Operation *> operations = collectForwardOperations(function);
  SmallVector<ProgramBlock> blocks = findRepeatedBlocks(collectActivations(operations));
  if (blocks.empty()) {
    remark::missed(function.getLoc(), remarkOptions("NoBlocks"))
        << remark::add("nothing is computed again: the forward pass has no consecutive equal blocks with a "
                       "single value between them");
    return std::nullopt;
  }
  return RecomputableBlocks{{operations.begin(), operations.end()}, std::move(blocks)};
}
