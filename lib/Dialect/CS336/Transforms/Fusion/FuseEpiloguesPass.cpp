//===- FuseEpiloguesPass.cpp - Fuses additions and ReLUs into matmuls -----===//
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

static constexpr RemarkOptions fuseEpiloguesRemarks("cs336-fuse-epilogues");

static bool isInMemory(Value value) {
  auto fusible = value.getDefiningOp<FusibleOpInterface>();
  return !fusible || !fusible.isRematerializable();
}

/// Returns the vector that `addend` repeats for every row, or null.
static Value getBias(Value addend) {
  auto broadcast = addend.getDefiningOp<BroadcastOp>();
  int64_t last = cast<RankedTensorType>(addend.getType()).getRank() - 1;
  bool isRow = broadcast && broadcast.getDims() == ArrayRef<int64_t>{last};
  return isRow && isInMemory(broadcast.getOperand()) ? Value(broadcast.getOperand()) : Value();
}

//===----------------------------------------------------------------------===//
// Additions
//===----------------------------------------------------------------------===//

/// Returns the reason why `matmul` cannot add `addend`, or "" if it can.
static StringRef whyNot(MatmulOp matmul, Value addend) {
  if (!matmul->hasOneUse())
    return "the matmul's result has other uses";
  if (matmul.getRelu())
    return "the matmul's ReLU is before the addition";
  // The sum of a wider value is rounded once here, but twice with an epilogue.
  Type type = matmul.getType().getElementType();
  if (cast<FloatType>(type).getWidth() < 32)
    return "the matmul's result is rounded to 16 bits before the addition";
  if (getBias(addend)) {
    if (matmul.getBias())
      return "the matmul already has a bias";
    return type.isF64() ? "GEMM libraries have no bias epilogue in float64" : "";
  }
  if (matmul.getAddend())
    return "the matmul already accumulates into another operand";
  return isInMemory(addend) ? "" : "the addend is recomputed by its readers and not stored in memory";
}

/// Returns the matmul among the sum's operands that can add the other operand: the later one if both can. Emits remarks
/// about those that cannot.
static MatmulOp findMatmul(AddOp sum) {
  MatmulOp found;
  for (OpOperand &operand : sum->getOpOperands()) {
    auto cast = operand.get().getDefiningOp<CastOp>();
    auto matmul = (cast ? cast.getOperand() : operand.get()).getDefiningOp<MatmulOp>();
    if (!matmul)
      continue;
    StringRef reason = whyNot(matmul, sum->getOperand(1 - operand.getOperandNumber()));
    if (cast && reason.empty())
      reason = "the matmul's result is cast before the addition";
    if (!reason.empty())
      remark::missed(sum.getLoc(), fuseEpiloguesRemarks("SumKept"))
          << remark::add("addition not fused: {0}", reason.str());
    else if (!found || found->isBeforeInBlock(matmul))
      found = matmul;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// ReLU
//===----------------------------------------------------------------------===//

/// Returns whether `op` computes `value` ≤ 0.
static bool isNotPositive(Operation *op, Value value) {
  auto compare = dyn_cast<CompareOp>(op);
  return compare && compare.getPredicate() == Predicate::LE && compare.getLhs() == value &&
         getSplatNumber(compare.getRhs()) == 0.0;
}

/// Returns the matmul of which `select` is the ReLU: 0 where its result is at most 0. Returns null if there is none.
static MatmulOp getRectified(SelectOp select) {
  auto matmul = select.getFalseValue().getDefiningOp<MatmulOp>();
  Operation *predicate = select.getPredicate().getDefiningOp();
  bool isRelu = matmul && predicate && getSplatNumber(select.getTrueValue()) == 0.0 &&
                isNotPositive(predicate, matmul.getResult());
  return isRelu ? matmul : MatmulOp();
}

/// Returns the reason why `matmul` cannot compute `select`, its ReLU, or "" if it can.
static StringRef whyNot(MatmulOp matmul, SelectOp select) {
  if (matmul.getType().getElementType().isF64())
    return "GEMM libraries have no ReLU epilogue in float64";
  // The gradient reads the predicate result ≤ 0, which has the same value for the ReLU's result.
  bool isReadOtherwise = llvm::any_of(
      matmul->getUsers(), [&](Operation *user) { return user != select && !isNotPositive(user, matmul.getResult()); });
  return isReadOtherwise ? "the matmul's result has other uses" : "";
}

namespace {
class FuseEpiloguesPass : public cs336::impl::FuseEpiloguesPassBase<FuseEpiloguesPass>, public CountingPass {
  void runOnOperation() override;
  void fuse(AddOp sum);
  void fuse(SelectOp select);

  PassCounter numSums{this, "num-sums", "Number of additions fused into matmuls"};
  PassCounter numBiases{this, "num-biases", "Number of biases fused into matmuls"};
  PassCounter numActivations{this, "num-activations", "Number of activations fused into matmuls"};
};
} // namespace

void FuseEpiloguesPass::fuse(AddOp sum) {
  MatmulOp matmul = findMatmul(sum);
  if (!matmul)
    return;
  Value addend = sum.getLhs() == matmul.getResult() ? sum.getRhs() : sum.getLhs();
  // Both operands are available at the position of the sum.
  matmul->moveBefore(sum);
  if (Value bias = getBias(addend)) {
    remark::passed(sum.getLoc(), fuseEpiloguesRemarks("BiasFused")) << "the matmul adds the bias to its rows";
    matmul.getBiasMutable().assign(bias);
    ++numBiases;
  } else {
    remark::passed(sum.getLoc(), fuseEpiloguesRemarks("SumFused")) << "the matmul adds it: only the addend is read";
    matmul.getAddendMutable().assign(addend);
    ++numSums;
  }
  sum.replaceAllUsesWith(matmul.getResult());
  sum.erase();
}

void FuseEpiloguesPass::fuse(SelectOp select) {
  MatmulOp matmul = getRectified(select);
  if (!matmul)
    return;
  if (StringRef reason = whyNot(matmul, select); !reason.empty()) {
    remark::missed(select.getLoc(), fuseEpiloguesRemarks("ActivationKept"))
        << remark::add("ReLU not fused: {0}", reason.str());
    return;
  }
  remark::passed(select.getLoc(), fuseEpiloguesRemarks("ActivationFused"))
      << "the matmul computes it: nothing else is read";
  matmul.setRelu(true);
  Value predicate = select.getPredicate();
  select.replaceAllUsesWith(matmul.getResult());
  select.erase();
  // The remaining readers come much later, and can compute the predicate again from its operands.
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
  // ReLUs come after additions, because the operand of a ReLU may be a sum.
  for (auto select : llvm::make_early_inc_range(function.getOps<SelectOp>()))
    fuse(select);
}
