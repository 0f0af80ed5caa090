//===- DecomposePass.cpp - Composites to primitives -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"

namespace cs336 {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions decomposeRemarks("cs336-decompose");

namespace {
/// The composites that remain to be replaced, including those in replacements.
class Worklist : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { add(op); }
  void add(Operation *op) {
    if (auto composite = dyn_cast<DecomposableOpInterface>(op))
      composites.push_back(composite);
  }

  SmallVector<DecomposableOpInterface> composites;
};

class DecomposePass : public cs336::impl::DecomposePassBase<DecomposePass>, public CountingPass {
  void runOnOperation() override {
    Worklist worklist;
    getOperation()->walk([&](Operation *op) { worklist.add(op); });
    OpBuilder builder(&getContext(), &worklist);
    while (!worklist.composites.empty()) {
      DecomposableOpInterface op = worklist.composites.pop_back_val();
      builder.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> values = op.decompose(builder);
      if (failed(values)) {
        op->emitOpError() << "cannot be decomposed";
        return signalPassFailure();
      }
      remark::passed(op.getLoc(), decomposeRemarks("Decomposed"))
          << remark::add("'{0}' is replaced with its decomposition", op->getName().getStringRef());
      op->replaceAllUsesWith(*values);
      op->erase();
      ++numDecomposed;
    }
  }

  PassCounter numDecomposed{this, "num-decomposed", "Number of composites replaced"};
};
} // namespace
