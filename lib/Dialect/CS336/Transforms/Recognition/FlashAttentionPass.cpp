//===- FlashAttentionPass.cpp - Fuses scores, softmax and values ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"
#include "EraseDead.h"
#include "HeadLayout.h"
#include "ScoreMover.h"
#include "cs336/Dialect/CS336/IR/ScoreDistances.h"
#include "cs336/Dialect/CS336/IR/TableBlocks.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"

namespace cs336 {
#define GEN_PASS_DEF_FLASHATTENTIONPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
struct FlashAttentionPass : cs336::impl::FlashAttentionPassBase<FlashAttentionPass>, CountingPass {
  using FlashAttentionPassBase::FlashAttentionPassBase;
  void runOnOperation() override;

private:
  void fuse(AttentionMatch &match);

  PassCounter numFused{this, "num-fused", "Number of attentions fused"};
  PassCounter numCausal{this, "num-causal", "Number of fused attentions that are causal"};
  PassCounter numFunctions{this, "num-score-functions", "Number of fused attentions with a score function"};
  PassCounter numRefused{this, "num-refused", "Number of candidates that were not fused"};
};
} // namespace

static constexpr RemarkOptions flashAttentionRemarks("cs336-flash-attention");

/// Returns the arithmetic of both matmuls.
static Precision getPrecision(AttentionMatch &match) {
  Precision precision = match.scores.getPrecision();
  return precision == match.values.getPrecision() ? precision : Precision::IEEE;
}

/// Returns a description: "2 x 32 queries x 64 keys, 8 heads of 16 on 2, causal".
static std::string describe(AttentionOp attention) {
  AttentionOp::Sizes sizes = attention.getSizes();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << sizes.batch << " x " << sizes.queries << " queries x " << sizes.keys << " keys, " << sizes.heads
     << (sizes.heads == 1 ? " head of " : " heads of ") << sizes.headDim;
  if (sizes.keyHeads != sizes.heads)
    os << " on " << sizes.keyHeads;
  os << (attention.getCausal() ? ", causal" : ", not causal");
  if (!attention.hasScoreFunction())
    return text;
  os << ", with a score function";
  if (unsigned tables = attention.getTables().size())
    os << " of " << tables << (tables == 1 ? " table" : " tables");
  auto visible = ScoreDistances::analyze(attention).visible;
  if (int64_t pairs = visible.countPairs(sizes.queries, sizes.keys); pairs < sizes.queries * sizes.keys)
    os << " that shows at most " << pairs << " of " << sizes.queries * sizes.keys << " pairs";
  return text;
}

void FlashAttentionPass::fuse(AttentionMatch &match) {
  OpBuilder builder(match.values);
  HeadLayout layout(match.scores, match.values, builder);
  Value query = layout.getQuery(), key = layout.getKey(), value = layout.getValue();
  Region function;
  SmallVector<Value> tables;
  if (match.functionResult)
    tables = ScoreMover(match, layout.getNumBatchAxes(), builder).build(function);
  auto attention = AttentionOp::create(builder, match.values.getLoc(), query, key, value, match.scale, match.isCausal);
  attention.setPrecision(getPrecision(match));
  attention.getTablesMutable().assign(tables);
  attention.getScore().takeBody(function);
  if (tableBlockBytes != kDefaultTableBlockBytes && !tables.empty())
    attention->setAttr(kTableBlockBytesAttr, builder.getI64IntegerAttr(tableBlockBytes));
  Value result = layout.getMatmulResult(attention.getOutput());
  match.values.getResult().replaceAllUsesWith(result);
  // Merging heads cancels the operations that move the output's axes back.
  SmallVector<Operation *> replaced = {match.values};
  for (Operation *user : llvm::to_vector(result.getUsers())) {
    auto transpose = dyn_cast<TransposeOp>(user);
    if (!transpose)
      continue;
    builder.setInsertionPoint(transpose);
    transpose.getResult().replaceAllUsesWith(
        composeTranspose(builder, transpose.getLoc(), result, transpose.getPerm()));
    replaced.push_back(transpose);
  }
  replaced.push_back(result.getDefiningOp());

  ++numFused;
  if (match.isCausal)
    ++numCausal;
  if (attention.hasScoreFunction())
    ++numFunctions;
  remark::passed(attention.getLoc(), flashAttentionRemarks("Fused")) << remark::add("{0}", describe(attention));
  // Called last, so that an attention with an unused result is erased too.
  eraseDead(replaced);
}

void FlashAttentionPass::runOnOperation() {
  if (tableBlockBytes < 1) {
    getOperation().emitError() << "option table-block-bytes of cs336-flash-attention is " << tableBlockBytes.getValue()
                               << ", must be at least 1";
    return signalPassFailure();
  }
  // Fusing erases operations, but not those that end other candidates.
  SmallVector<Operation *> ends;
  getOperation().walk([&](Operation *op) {
    if (!std::holds_alternative<std::monostate>(matchAttention(op)))
      ends.push_back(op);
  });
  for (Operation *end : ends) {
    auto result = matchAttention(end);
    if (auto *match = std::get_if<AttentionMatch>(&result)) {
      fuse(*match);
    } else if (auto *refusal = std::get_if<AttentionRefusal>(&result)) {
      ++numRefused;
      remark::missed(refusal->op->getLoc(), flashAttentionRemarks(refusal->name))
          << remark::add("not fused: {0}", refusal->reason);
    }
  }
}
