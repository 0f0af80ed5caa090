//===- TestDialect.cpp - A dialect that only tests have -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "TestDialect.cpp.inc"

#define GET_OP_CLASSES
#include "TestOps.cpp.inc"

using namespace mlir;
using namespace cs336::test;

void CS336TestDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "TestOps.cpp.inc"
      >();
}

void cs336::test::registerTestDialect(DialectRegistry &registry) { registry.insert<CS336TestDialect>(); }

int64_t CubeOp::getFlops() { return 2 * getResult().getType().getNumElements(); }
int64_t QuarticOp::getFlops() { return 3 * getResult().getType().getNumElements(); }

/// 3·x²·g
LogicalResult CubeOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, SmallVectorImpl<Value> &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value square = MulOp::create(b, getOperand(), getOperand());
  Value slope = MulOp::create(b, square, ConstantOp::create(b, getOperand().getType(), 3.0));
  operandGradients.push_back(MulOp::create(b, slope, gradients.front()));
  return success();
}

cs336::FusionKind CubeOp::getFusionKind() { return FusionKind::Pointwise; }

FailureOr<SmallVector<Value>> CubeOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  int64_t rank = getResult().getType().getRank();
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(builder, getLoc(), inits.front().getType(), inputs, inits, maps, iterators,
                                           [](OpBuilder &b, Location loc, ValueRange scalars) {
                                             Value square = arith::MulFOp::create(b, loc, scalars[0], scalars[0]);
                                             Value cube = arith::MulFOp::create(b, loc, square, scalars[0]);
                                             linalg::YieldOp::create(b, loc, cube);
                                           });
  return SmallVector<Value>(generic.getResults());
}

FailureOr<SmallVector<Value>> QuarticOp::decompose(OpBuilder &builder) {
  Value cube = CubeOp::create(builder, getLoc(), getOperand());
  return SmallVector<Value>{MulOp::create(builder, getLoc(), cube, getOperand())};
}
