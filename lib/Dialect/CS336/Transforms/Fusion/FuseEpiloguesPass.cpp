//===- FuseEpiloguesPass.cpp - Sums and ReLU that products take -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ScaleAndMask.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"

namespace cs336 {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions remarkOptions("cs336-fuse-epilogues");

static bool isInMemory(Value value) {
  auto fusible = value.getDefiningOp<FusibleOpInterface>();
  return !fusible || !fusible.isRematerializable();
}

/// The vector that `addend` repeats for every row, if it is one.
static Value getBias(Value addend) {
  auto broadcast = addend.getDefiningOp<BroadcastOp>();
  int64_t last = cast<RankedTensorType>(addend.getType()).getRank() - 1;
  bool isRow = broadcast && broadcast.getDims() == ArrayRef<int64_t>{last};
  return isRow && isInMemory(broadcast.getOperand()) ? Value(broadcast.getOperand()) : Value();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Why `product` cannot add `addend` to itself, or nothing if it can.
static StringRef whyNot(MatmulOp product, Value addend) {
  if (!product->hasOneUse())
    return "the product is read elsewhere, too";
  if (product.getRelu())
    return "the product's ReLU comes before it";
  // What is computed in a wider type rounds once with the sum and twice without.
  Type type = product.getType().getElementType();
  if (cast<FloatType>(type).getWidth() < 32)
    return "the product is rounded to 16 bits before it is added";
  if (getBias(addend)) {
    if (product.getBias())
      return "the product adds a bias already";
    return type.isF64() ? "no library adds a bias in float64" : "";
  }
  if (product.getAddend())
    return "the product adds something already";
  return isInMemory(addend) ? "" : "what is added is computed where it is read, and not in memory";
}

/// Which of the sum's operands is a product that can add the other one: the later, if both can. With remarks about
/// those that cannot.
static MatmulOp findProduct(AddOp sum) {
  MatmulOp found;
  for (OpOperand &operand : sum->getOpOperands()) {
    auto cast = operand.get().getDefiningOp<CastOp>();
    auto product = (cast ? cast.getOperand() : operand.get()).getDefiningOp<MatmulOp>();
    if (!product)
      continue;
    StringRef reason = whyNot(product, sum->getOperand(1 - operand.getOperandNumber()));
    if (cast && reason.empty())
      reason = "the product is cast before it is added";
    if (!reason.empty())
      remark::missed(sum.getLoc(), remarkOptions("SumKept")) << remark::add("a sum is no epilogue: {0}", reason.str());
    else if (!found || found->isBeforeInBlock(product))
      found = product;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// ReLU
//===----------------------------------------------------------------------===//

/// Whether it is `value` ≤ 0.
static bool isNotPositive(Operation *op, Value value) {
  auto compare = dyn_cast<CompareOp>(op);
  return compare && compare.getPredicate() == Predicate::LE && compare.getLhs() == value &&
         getSplatNumber(compare.getRhs()) == 0.0;
}

/// The product of which `select` is the ReLU: 0 where the product is at most 0.
static MatmulOp getRectified(SelectOp select) {
  auto product = select.getFalseValue().getDefiningOp<MatmulOp>();
  Operation *predicate = select.getPredicate().getDefiningOp();
  bool isRelu = product && predicate && getSplatNumber(select.getTrueValue()) == 0.0 &&
                isNotPositive(predicate, product.getResult());
  return isRelu ? product : MatmulOp();
}

/// Why `product` cannot compute `select`, its ReLU, or nothing if it can.
static StringRef whyNot(MatmulOp product, SelectOp select) {
  if (product.getType().getElementType().isF64())
    return "no library has one in float64";
  // A gradient asks where the product is at most 0, as the ReLU of it is.
  bool isReadOtherwise = llvm::any_of(product->getUsers(), [&](Operation *user) {
    return user != select && !isNotPositive(user, product.getResult());
  });
  return isReadOtherwise ? "the product is read elsewhere, too" : "";
}

namespace {
class FuseEpiloguesPass : public cs336::impl::FuseEpiloguesPassBase<FuseEpiloguesPass>, public CountingPass {
  void runOnOperation() override;
  void fuse(AddOp sum);
  void fuse(SelectOp select);

  PassCounter numSums{this, "num-sums", "Number of sums that products take"};
  PassCounter numBiases{this, "num-biases", "Number of biases that products take"};
  PassCounter numActivations{this, "num-activations", "Number of activations that products take"};
};
} // namespace

void FuseEpiloguesPass::fuse(AddOp sum) {
  MatmulOp product = findProduct(sum);
  if (!product)
    return;
  Value addend = sum.getLhs() == product.getResult() ? sum.getRhs() : sum.getLhs();
  // Where the sum stood both operands are there.
  product->moveBefore(sum);
  if (Value bias = getBias(addend)) {
    remark::passed(sum.getLoc(), remarkOptions("BiasFused")) << "the product adds it to its rows";
    product.getBiasMutable().assign(bias);
    ++numBiases;
  } else {
    remark::passed(sum.getLoc(), remarkOptions("SumFused"))
        << "the product adds it: a read of the sum's operand is all";
    product.getAddendMutable().assign(addend);
    ++numSums;
  }
  sum.replaceAllUsesWith(product.getResult());
  sum.erase();
}

void FuseEpiloguesPass::fuse(SelectOp select) {
  MatmulOp product = getRectified(select);
  if (!product)
    return;
  if (StringRef reason = whyNot(product, select); !reason.empty()) {
    remark::missed(select.getLoc(), remarkOptions("ActivationKept"))
        << remark::add("a ReLU is no epilogue: {0}", reason.str());
    return;
  }
  remark::passed(select.getLoc(), remarkOptions("ActivationFused")) << "the product computes it: nothing else is read";
  product.setRelu(true);
  Value predicate = select.getPredicate();
  select.replaceAllUsesWith(product.getResult());
  select.erase();
  // What is left of its readers comes much later, and can compute it from what they read.
  Operation *compare = predicate.getDefiningOp(), *first = nullptr;
  for (Operation *user : predicate.getUsers())
    if (Operation *ancestor = compare->getBlock()->findAncestorOpInBlock(*user);
        !first || ancestor->isBeforeInBlock(first))
      first = ancestor;
  if (first)
    compare->moveBefore(first);
  else
    compare->erase();
  ++numActivations;
}

void FuseEpiloguesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  for (auto sum : llvm::make_early_inc_range(function.getOps<AddOp>()))
    fuse(sum);
  // After sums, of which they may be.
  for (auto select : llvm::make_early_inc_range(function.getOps<SelectOp>()))
    fuse(select);
}
