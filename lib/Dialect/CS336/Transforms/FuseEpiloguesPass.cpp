//===- FuseEpiloguesPass.cpp - Sums that products take --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "mlir/IR/Remarks.h"

namespace cs336 {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static remark::RemarkOpts remarkOptions(StringRef name) {
  return remark::RemarkOpts::name(name).category("cs336-fuse-epilogues");
}

/// Why `product` cannot add `addend` to itself, or nothing if it can.
static StringRef whyNot(MatmulOp product, Value addend) {
  if (!product->hasOneUse())
    return "the product is read elsewhere, too";
  if (product.getAddend())
    return "the product adds something already";
  // What is computed in a wider type rounds once with the sum and twice without.
  if (cast<FloatType>(product.getType().getElementType()).getWidth() < 32)
    return "the product is rounded to 16 bits before it is added";
  auto fusible = addend.getDefiningOp<FusibleOpInterface>();
  if (fusible && fusible.isRematerializable())
    return "what is added is computed where it is read, and not in memory";
  return "";
}

/// Which of the sum's operands is a product that can add the other one: the later, if both can. With remarks about
/// those that cannot.
static MatmulOp findProduct(AddOp sum) {
  MatmulOp found;
  for (OpOperand &operand : sum->getOpOperands()) {
    auto product = operand.get().getDefiningOp<MatmulOp>();
    if (!product)
      continue;
    StringRef reason = whyNot(product, sum->getOperand(1 - operand.getOperandNumber()));
    if (!reason.empty())
      remark::missed(sum.getLoc(), remarkOptions("SumKept")) << remark::add("a sum is no epilogue: {0}", reason.str());
    else if (!found || found->isBeforeInBlock(product))
      found = product;
  }
  return found;
}

namespace {
class FuseEpiloguesPass : public cs336::impl::FuseEpiloguesPassBase<FuseEpiloguesPass>, public CountingPass {
  void runOnOperation() override;

  PassCounter numSums{this, "num-sums", "Number of sums that products take"};
};
} // namespace

void FuseEpiloguesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  for (auto sum : llvm::make_early_inc_range(function.getOps<AddOp>())) {
    MatmulOp product = findProduct(sum);
    if (!product)
      continue;
    Value addend = sum.getLhs() == product.getResult() ? sum.getRhs() : sum.getLhs();
    remark::passed(sum.getLoc(), remarkOptions("SumFused"))
        << "the product adds it: a read of the sum's operand is all";
    // Where the sum stood both operands are there.
    product->moveBefore(sum);
    product.getAddendMutable().assign(addend);
    sum.replaceAllUsesWith(product.getResult());
    sum.erase();
    ++numSums;
  }
}
