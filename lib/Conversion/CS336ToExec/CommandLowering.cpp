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

/// Returns `buffer`, or a dense copy of it: collectives and checks require dense buffers.
static Value makeDense(OpBuilder &builder, Location loc, Value buffer) {
  bool isDense = exec::dropOffset(cast<MemRefType>(buffer.getType())).getLayout().isIdentity();
  return isDense ? buffer : exec::createDenseCopy(builder, loc, buffer);
}

static void createCommand(OpBuilder &builder, AllReduceOp op, Value from, Value to) {
  exec::AllReduceOp::create(builder, op.getLoc(), op.getKind(), from, to, op.getWorld());
}
static void createCommand(OpBuilder &builder, AllGatherOp op, Value from, Value to) {
  exec::AllGatherOp::create(builder, op.getLoc(), from, to, op.getWorld());
}
static void createCommand(OpBuilder &builder, ReduceScatterOp op, Value from, Value to) {
  exec::ReduceScatterOp::create(builder, op.getLoc(), op.getKind(), from, to, op.getWorld());
}
static void createCommand(OpBuilder &builder, BroadcastRankOp op, Value from, Value to) {
  exec::BroadcastRankOp::create(builder, op.getLoc(), from, to, op.getRoot(), op.getWorld());
}

namespace {
template <typename OpT>
struct CollectiveModel : CommandLoweringInterface::ExternalModel<CollectiveModel<OpT>, OpT> {
  LogicalResult lowerToCommands(Operation *op, OpBuilder &builder, ValueRange operands, ValueRange results) const {
    createCommand(builder, cast<OpT>(op), makeDense(builder, op->getLoc(), operands.front()), results.front());
    return success();
  }
};

struct CheckBoundModel : CommandLoweringInterface::ExternalModel<CheckBoundModel, CheckBoundOp> {
  LogicalResult lowerToCommands(Operation *op, OpBuilder &builder, ValueRange operands, ValueRange results) const {
    Value source = makeDense(builder, op->getLoc(), operands.front());
    exec::CheckBoundOp::create(builder, op->getLoc(), source, results.front(), cast<CheckBoundOp>(op).getBound());
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
    CheckBoundOp::attachInterface<CheckBoundModel>(*context);
    MatmulOp::attachInterface<MatmulModel>(*context);
    AllReduceOp::attachInterface<CollectiveModel<AllReduceOp>>(*context);
    AllGatherOp::attachInterface<CollectiveModel<AllGatherOp>>(*context);
    ReduceScatterOp::attachInterface<CollectiveModel<ReduceScatterOp>>(*context);
    BroadcastRankOp::attachInterface<CollectiveModel<BroadcastRankOp>>(*context);
  });
}
