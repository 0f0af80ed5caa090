//===- WarpgroupPlan.cpp - Functions of attention on sm_90a ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupPlan.h"

#include "SelectedParameters.h"
#include "cs336/Target/CUDA/TargetDescription.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace cs336::cuda;

/// Returns the legal numbers of passes of a gradient, with the one first that is known to be faster.
static SmallVector<int64_t, 2> getLegalPasses(const AttentionProblem &problem) {
  // Sums of dQ are not made for nothing.
  if (!problem.getOperand("QueryGradient"))
    return {2};
  if (WarpgroupGradientTiles::isFaster(problem.sizes))
    return {1, 2};
  return {2, 1};
}

FailureOr<WarpgroupPlan> WarpgroupPlan::select(const AttentionProblem &problem, const TargetDescription &target,
                                               DictionaryAttr parameters, std::string &whyNot) {
  WarpgroupPlan plan;
  SelectedParameters selected("", parameters);
  auto add = [&](AttentionStage stage) -> LogicalResult {
    FailureOr<WarpgroupTiles> tiles =
        WarpgroupTiles::select(stage, problem.sizes, problem.isCausal, problem.score, target,
                               selected.get(AttentionTiles::getStageName(stage)), whyNot);
    if (succeeded(tiles))
      plan.tiles.push_back(*tiles);
    return tiles;
  };
  if (!problem.isBackward) {
    if (failed(add(AttentionStage::Forward)) || failed(selected.finish(whyNot)))
      return failure();
    return plan;
  }
  SmallVector<int64_t, 2> legal = getLegalPasses(problem);
  int64_t passes = legal.front();
  selected.read("passes", passes);
  if (!llvm::is_contained(legal, passes))
    return selected.fail(legal.size() == 1 ? "passes must be 2" : "passes must be 1 or 2", whyNot);
  if (passes == 1) {
    FailureOr<WarpgroupGradientTiles> sums =
        WarpgroupGradientTiles::select(problem.sizes, problem.score, target, selected.get("sums"), whyNot);
    if (failed(sums) || failed(selected.finish(whyNot)))
      return failure();
    plan.sums = *sums;
    return plan;
  }
  if (failed(add(AttentionStage::BackwardQueries)) || failed(add(AttentionStage::BackwardKeys)) ||
      failed(selected.finish(whyNot)))
    return failure();
  // The function for dQ leaves numbers of so many queries for the other one.
  int64_t padded = plan.tiles[0].getPaddedQueries(), tile = plan.tiles[1].getStreamedRows();
  if (padded % tile != 0)
    return selected.fail(
        "tile of 'keys' must divide " + Twine(padded) + ", the queries of a head in whole rows of 'queries'", whyNot);
  return plan;
}

DictionaryAttr WarpgroupPlan::getParameters(MLIRContext *context) const {
  Builder builder(context);
  auto passes = [&](int64_t number) { return builder.getNamedAttr("passes", builder.getI64IntegerAttr(number)); };
  if (sums)
    return builder.getDictionaryAttr({passes(1), builder.getNamedAttr("sums", sums->getParameters(context))});
  SmallVector<NamedAttribute> parameters;
  if (tiles.size() == 2)
    parameters.push_back(passes(2));
  for (const WarpgroupTiles &each : tiles)
    parameters.push_back(builder.getNamedAttr(each.getName(), each.getParameters(context)));
  return builder.getDictionaryAttr(parameters);
}

SmallVector<DictionaryAttr> WarpgroupPlan::listVariants(const AttentionProblem &problem,
                                                        const TargetDescription &target) const {
  MLIRContext *context = problem.element.getContext();
  Builder builder(context);
  SmallVector<DictionaryAttr> variants;
  auto add = [&](DictionaryAttr parameters) {
    std::string whyNot;
    FailureOr<WarpgroupPlan> plan = select(problem, target, parameters, whyNot);
    if (succeeded(plan) && plan->getParameters(context) != getParameters(context))
      variants.push_back(plan->getParameters(context));
  };
  auto passes = [&](int64_t number) { return builder.getNamedAttr("passes", builder.getI64IntegerAttr(number)); };
  // The number of passes matters most.
  for (int64_t number : {1, 2})
    if (problem.isBackward && number != (sums ? 1 : 2))
      add(builder.getDictionaryAttr(passes(number)));
  if (sums)
    for (DictionaryAttr each : sums->listVariants(problem.score, target, context))
      add(builder.getDictionaryAttr({passes(1), builder.getNamedAttr("sums", each)}));
  // The best few of each function.
  constexpr size_t few = 2;
  for (const WarpgroupTiles &function : tiles) {
    SmallVector<DictionaryAttr> others = function.listVariants(problem.score, problem.isCausal, target, context);
    for (DictionaryAttr each : ArrayRef(others).take_front(few)) {
      SmallVector<NamedAttribute> parameters{builder.getNamedAttr(function.getName(), each)};
      if (problem.isBackward)
        parameters.push_back(passes(2));
      add(builder.getDictionaryAttr(parameters));
    }
  }
  return variants;
}
