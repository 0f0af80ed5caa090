//===- AbsorbConversions.cpp - Moves widening casts into fusion groups ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AbsorbConversions.h"

#include "FusionRoles.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cs336;

/// Returns whether `op` reads each element of `value` in registers.
static bool readsElements(Operation *op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  return fusible && !fusible.isRematerializable() &&
         llvm::is_contained({FusionKind::Pointwise, FusionKind::RowReduction}, fusible.getFusionKind());
}

/// Returns whether `op` multiplies a value by one number, and nothing else reads the result.
static bool isScaling(Operation *op) {
  auto mul = dyn_cast<MulOp>(op);
  auto factor = mul ? mul.getRhs().getDefiningOp<ConstantOp>() : ConstantOp();
  return factor && factor.getValue().isSplat() && mul->hasOneUse();
}

unsigned cs336::absorbConversions(Block &block) {
  FusionRoles roles(block);
  unsigned numAbsorbed = 0;
  for (auto fused : block.getOps<FusedOp>())
    for (OpOperand &operand : fused->getOpOperands()) {
      BlockArgument argument = fused.getBody().getArgument(operand.getOperandNumber());
      if (!llvm::all_of(argument.getUsers(), readsElements))
        continue;
      while (Operation *conversion = operand.get().getDefiningOp()) {
        bool widens = roles.isConversion(conversion) &&
                      getTensorBytes(conversion->getOperand(0)) < getTensorBytes(conversion->getResult(0));
        if (!widens && !isScaling(conversion))
          break;
        OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
        IRMapping mapping;
        for (Value factor : conversion->getOperands().drop_front())
          builder.clone(*factor.getDefiningOp(), mapping);
        Operation *copy = builder.clone(*conversion, mapping);
        argument.replaceAllUsesWith(copy->getResult(0));
        argument.setType(conversion->getOperand(0).getType());
        copy->setOperand(0, argument);
        operand.set(conversion->getOperand(0));
        ++numAbsorbed;
      }
    }
  return numAbsorbed;
}
