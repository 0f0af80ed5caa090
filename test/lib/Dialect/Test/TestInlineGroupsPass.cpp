//===- TestInlineGroupsPass.cpp - Groups become what they hold ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
/// The inverse of fusion: the operations of a group stand where the group stood.
struct TestInlineGroupsPass : PassWrapper<TestInlineGroupsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestInlineGroupsPass)

  StringRef getArgument() const final { return "test-inline-groups"; }
  StringRef getDescription() const final { return "Replaces groups by their operations"; }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto fused : llvm::make_early_inc_range(getOperation().getOps<cs336::FusedOp>())) {
      Block &body = fused.getBody().front();
      SmallVector<Value> results(body.getTerminator()->getOperands());
      for (Value &result : results)
        if (auto argument = dyn_cast<BlockArgument>(result); argument && argument.getOwner() == &body)
          result = fused->getOperand(argument.getArgNumber());
      rewriter.eraseOp(body.getTerminator());
      rewriter.inlineBlockBefore(&body, fused, fused->getOperands());
      rewriter.replaceOp(fused, results);
    }
  }
};
} // namespace

void cs336::test::registerTestPasses() { PassRegistration<TestInlineGroupsPass>(); }
