//===- FuseSoftmaxPass.cpp - Fuses the primitives of softmax --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ScaleAndMask.h"
#include "EraseDead.h"
#include "SoftmaxChain.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/Support/Format.h"

namespace cs336 {
#define GEN_PASS_DEF_FUSESOFTMAXPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions fuseSoftmaxRemarks("cs336-fuse-softmax");

namespace {
/// The operations on the scores' side that become part of a softmax, or of its gradient.
struct Absorbed {
  /// The scores, or their gradient.
  Value end;
  double scale = 1.0;
  std::optional<Masking> masking;
  SmallVector<Operation *> operations;
};

class FuseSoftmaxPass : public cs336::impl::FuseSoftmaxPassBase<FuseSoftmaxPass>, public CountingPass {
  void runOnOperation() override;
  void fuse(const SoftmaxChain &chain);

  llvm::DenseSet<Operation *> erased;

  PassCounter numFused{this, "num-fused", "Number of softmaxes fused"};
  PassCounter numGradients{this, "num-gradients", "Number of gradients of softmaxes fused"};
};
} // namespace

static void remarkStays(Operation *op, StringRef what, StringRef reason) {
  remark::missed(op->getLoc(), fuseSoftmaxRemarks("NotAbsorbed"))
      << remark::add("the {0} before a softmax is not fused: {1}", what.str(), reason.str());
}

/// Walks from the softmax's input to the scores over scales and one mask. Hidden scores must stay −∞ through all later
/// operations, so only positive factors are accepted after the mask.
static Absorbed absorbScores(const SoftmaxChain &chain) {
  Absorbed absorbed;
  absorbed.end = chain.input;
  auto isReader = [&](Operation *user) {
    return chain.operations.contains(user) || llvm::is_contained(absorbed.operations, user);
  };
  while (Operation *op = absorbed.end.getDefiningOp()) {
    std::optional<Scaling> scaling = matchScaling(op);
    std::optional<Masking> masking = matchMasking(op);
    if (!scaling && !masking) {
      if (isa<MulOp, DivOp>(op))
        remarkStays(op, "scale", "it is not a constant splat");
      else if (isa<SelectOp>(op))
        remarkStays(op, "selection", "its hidden scores are not negative infinity");
      break;
    }
    StringRef what = scaling ? "scale" : "mask";
    if (!llvm::all_of(op->getUsers(), isReader)) {
      remarkStays(op, what, "its result has other uses");
      break;
    }
    if (masking && absorbed.masking) {
      remarkStays(op, what, "another mask follows it");
      break;
    }
    if (masking && !(absorbed.scale > 0)) {
      remarkStays(op, what, "a factor that is not positive follows it");
      break;
    }
    double scale = absorbed.scale * (scaling ? scaling->factor : 1.0);
    if (!fitsFloat32(scale)) {
      remarkStays(op, what, "the combined scale with the scales that follow is infinite or 0 in float32");
      break;
    }
    absorbed.end = scaling ? scaling->operand : masking->operand;
    absorbed.scale = scale;
    if (masking)
      absorbed.masking = masking;
    absorbed.operations.push_back(op);
  }
  return absorbed;
}

/// Walks from the gradient of the softmax's input to that of the scores.
static Absorbed absorbGradient(const SoftmaxChain &chain) {
  Absorbed absorbed;
  absorbed.end = chain.inputGradient;
  while (absorbed.end.hasOneUse()) {
    Operation *user = *absorbed.end.user_begin();
    std::optional<Scaling> scaling = matchScaling(user);
    std::optional<Masking> masking = matchMaskedGradient(user);
    bool isScaling = scaling && scaling->operand == absorbed.end && fitsFloat32(absorbed.scale * scaling->factor);
    bool isMasking = masking && masking->operand == absorbed.end && !absorbed.masking;
    if (!isScaling && !isMasking)
      break;
    absorbed.end = user->getResult(0);
    if (isScaling)
      absorbed.scale *= scaling->factor;
    else
      absorbed.masking = masking;
    absorbed.operations.push_back(user);
  }
  return absorbed;
}

static Value buildMask(OpBuilder &builder, Location loc, const Absorbed &absorbed) {
  return absorbed.masking ? buildVisible(builder, loc, *absorbed.masking) : Value();
}

static std::string describe(const Absorbed &absorbed) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (absorbed.scale != 1.0)
    stream << llvm::format(", scaled by %g", absorbed.scale);
  if (absorbed.masking)
    stream << ", masked";
  return text;
}

void FuseSoftmaxPass::fuse(const SoftmaxChain &chain) {
  Absorbed scores = absorbScores(chain);
  SmallVector<Operation *> replaced(chain.operations.getArrayRef());
  llvm::append_range(replaced, scores.operations);

  Location loc = chain.result.getLoc();
  OpBuilder builder(chain.result.getDefiningOp());
  Value mask = buildMask(builder, loc, scores);
  Value result = SoftmaxOp::create(builder, loc, scores.end, mask, builder.getF64FloatAttr(scores.scale));
  int64_t size = cast<RankedTensorType>(result.getType()).getShape().back();
  remark::passed(loc, fuseSoftmaxRemarks("Fused"))
      << remark::add("a softmax of {0} elements{1}", size, describe(scores));
  ++numFused;

  if (chain.inputGradient) {
    Absorbed gradient = absorbGradient(chain);
    llvm::append_range(replaced, gradient.operations);
    Location gradientLoc = chain.inputGradient.getLoc();
    builder.setInsertionPoint(gradient.end.getDefiningOp());
    mask = buildMask(builder, gradientLoc, gradient);
    Value inputGradient = SoftmaxBackwardOp::create(builder, gradientLoc, result, chain.resultGradient, mask,
                                                    builder.getF64FloatAttr(gradient.scale));
    gradient.end.replaceAllUsesWith(inputGradient);
    remark::passed(gradientLoc, fuseSoftmaxRemarks("GradientFused"))
        << remark::add("the gradient of a softmax of {0} elements{1}", size, describe(gradient));
    ++numGradients;
  }
  Value oldResult = chain.result;
  oldResult.replaceAllUsesWith(result);
  eraseDead(replaced, [&](Operation *op) { erased.insert(op); });
}

void FuseSoftmaxPass::runOnOperation() {
  erased.clear();
  SmallVector<Operation *> operations;
  getOperation().walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations) {
    if (erased.contains(op))
      continue;
    auto match = matchSoftmax(op);
    if (auto *chain = std::get_if<SoftmaxChain>(&match))
      fuse(*chain);
    else if (auto *refusal = std::get_if<SoftmaxRefusal>(&match))
      remark::missed(op->getLoc(), fuseSoftmaxRemarks("NotFused"))
          << remark::add("not fused as a softmax: {0}", refusal->reason);
  }
}
