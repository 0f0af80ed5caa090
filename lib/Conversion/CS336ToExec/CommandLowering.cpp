//===- CommandLowering.cpp - Collectives and checks as commands -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Conversion/CS336ToExec/CommandLoweringInterface.h"

#include "MatmulLowering.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"

#include "cs336/Conversion/CS336ToExec/CommandLoweringInterface.cpp.inc"

using namespace mlir;
using namespace cs336;

/// Returns `buffer`, or a dense copy of it, for collectives and checks.
static Value makeDense(OpBuilder &builder, Location loc, Value buffer) {
  bool isDense = exec::dropOffset(cast<MemRefType>(buffer.getType())).getLayout().isIdentity();
  return isDense ? buffer : exec::createDenseCopy(builder, loc, buffer);
}

namespace {
struct CollectiveModel : CommandLoweringInterface::ExternalModel<CollectiveModel, cs336::CollectiveOp> {
  LogicalResult lowerToCommands(Operation *op, OpBuilder &builder, ValueRange operands, ValueRange results) const {
    auto collective = cast<cs336::CollectiveOp>(op);
    SmallVector<Value> sources;
    // A part for each rank may be columns of a matrix.
    auto isColumns = [&](MemRefType type) {
      return collective.getKind() == CollectiveKind::AllToAll && exec::hasPartsOfColumns(type) &&
             type.getDimSize(0) == static_cast<int64_t>(collective.getGroup());
    };
    for (Value operand : operands)
      sources.push_back(isColumns(cast<MemRefType>(operand.getType())) ? operand
                                                                       : makeDense(builder, op->getLoc(), operand));
    exec::CollectiveOp::create(builder, op->getLoc(), collective.getKindAttr(), collective.getReductionAttr(), sources,
                               results, collective.getGroupAttr(), collective.getRootAttr(), /*others=*/UnitAttr());
    return success();
  }

  bool mayWriteOver(Operation *op, unsigned operand, unsigned result) const {
    CollectiveKind kind = cast<cs336::CollectiveOp>(op).getKind();
    return operand == result && (kind == CollectiveKind::AllReduce || kind == CollectiveKind::Broadcast);
  }
};

struct CheckBoundModel : CommandLoweringInterface::ExternalModel<CheckBoundModel, cs336::CheckBoundOp> {
  LogicalResult lowerToCommands(Operation *op, OpBuilder &builder, ValueRange operands, ValueRange results) const {
    Value source = makeDense(builder, op->getLoc(), operands.front());
    exec::CheckBoundOp::create(builder, op->getLoc(), source, results.front(),
                               cast<cs336::CheckBoundOp>(op).getBound());
    return success();
  }
};

struct MatmulModel : CommandLoweringInterface::ExternalModel<MatmulModel, MatmulOp> {
  LogicalResult lowerToCommands(Operation *op, OpBuilder &builder, ValueRange operands, ValueRange results) const {
    auto matmul = cast<MatmulOp>(op);
    lowerMatmul(matmul, MatmulOp::Adaptor(operands, matmul), builder, results.front());
    return success();
  }
};
} // namespace

void cs336::registerCommandLoweringModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CS336Dialect *) {
    cs336::CheckBoundOp::attachInterface<CheckBoundModel>(*context);
    cs336::CollectiveOp::attachInterface<CollectiveModel>(*context);
    MatmulOp::attachInterface<MatmulModel>(*context);
  });
}
