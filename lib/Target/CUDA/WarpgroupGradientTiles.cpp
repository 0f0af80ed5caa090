//===- WarpgroupGradientTiles.cpp - The gradient in one pass --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupGradientTiles.h"

#include "SelectedParameters.h"
#include "Wgmma.h"
#include "cs336/Target/CUDA/TargetDescription.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

static constexpr int64_t slabColumns = WarpgroupTiles::slabColumns;

/// Returns how many key heads blocks compute at the same time. Many heads keep blocks from waiting for each other, as
/// long as their queries, dO, and dQ in float32 stay in the second-level cache. Two groups at least, so that the last
/// one can balance the blocks (runtime/kernels/warpgroup_key_order.cuh). All groups are about equal.
static int64_t chooseHeadsPerGroup(const AttentionSizes &sizes) {
  constexpr int64_t bytesPerElement = 2 + 2 + 4, usualBytes = 16 << 20, mostBytes = 32 << 20, fewHeads = 8;
  int64_t heads = sizes.batches * sizes.keyHeads;
  int64_t bytesPerHead = sizes.queryHeads / sizes.keyHeads * sizes.queries * sizes.headDim * bytesPerElement;
  int64_t most = std::min(mostBytes / bytesPerHead, std::max(usualBytes / bytesPerHead, fewHeads));
  most = std::clamp(most, int64_t(1), std::max(heads / 2, int64_t(1)));
  return llvm::divideCeilSigned(heads, llvm::divideCeilSigned(heads, most));
}

// Measured on an H200 (docs/Rationale/AttentionByWarpgroups.md). The limits are shared memory, and 208 registers per
// thread for dK and dV.
WarpgroupGradientTiles::WarpgroupGradientTiles(const AttentionSizes &sizes, const std::optional<ScoreText> &score)
    : sizes(sizes), hasScoreFunction(score), skipsHiddenTiles(score && score->inspectsTiles),
      headsPerGroup(chooseHeadsPerGroup(sizes)) {
  bool isNarrow = sizes.headDim <= slabColumns;
  queryStages = isNarrow ? 4 : 2;
  slopeStages = isNarrow ? 2 : 1;
  overlaps = isNarrow;
}

FailureOr<WarpgroupGradientTiles> WarpgroupGradientTiles::select(const AttentionSizes &sizes,
                                                                 const std::optional<ScoreText> &score,
                                                                 const TargetDescription &target, Attribute parameters,
                                                                 std::string &whyNot) {
  WarpgroupGradientTiles tiles(sizes, score);
  SelectedParameters selected("sums", parameters);
  selected.read("heads", tiles.headsPerGroup);
  selected.read("query_stages", tiles.queryStages);
  selected.read("slope_stages", tiles.slopeStages);
  selected.read("sum_stages", tiles.sumStages);
  selected.read("overlap", tiles.overlaps);
  if (std::string reason = tiles.whyIllegal(target); !reason.empty())
    return selected.fail(reason, whyNot);
  if (failed(selected.finish(whyNot)))
    return failure();
  return tiles;
}

std::string WarpgroupGradientTiles::whyIllegal(const TargetDescription &target) const {
  struct Range {
    StringRef name;
    int64_t value, least, most;
  };
  // A warp adds each tile of dQ, and three have nothing else to do.
  const Range ranges[] = {{"heads", headsPerGroup, 1, sizes.batches * sizes.keyHeads},
                          {"query_stages", queryStages, 2, 6},
                          {"slope_stages", slopeStages, 1, 4},
                          {"sum_stages", sumStages, 1, 3}};
  for (const Range &range : ranges)
    if (range.value < range.least || range.value > range.most)
      return (range.name + " must be from " + Twine(range.least) + " to " + Twine(range.most)).str();
  // dK and dV, the scores of 64 queries, dP if it is there at the same time, and rounded probabilities.
  constexpr int64_t registers = 208, scores = queriesPerTile / 2, rounded = queriesPerTile / 4;
  return whyTooLarge(getColumns() + scores + (overlaps ? scores : 0) + rounded, registers, getSumsSharedBytes(),
                     target);
}

SmallVector<DictionaryAttr> WarpgroupGradientTiles::listVariants(const std::optional<ScoreText> &score,
                                                                 const TargetDescription &target,
                                                                 MLIRContext *context) const {
  Builder builder(context);
  SmallVector<DictionaryAttr> variants;
  auto add = [&](StringRef name, Attribute value) {
    std::string whyNot;
    FailureOr<WarpgroupGradientTiles> tiles =
        select(sizes, score, target, builder.getDictionaryAttr(builder.getNamedAttr(name, value)), whyNot);
    if (succeeded(tiles) && tiles->getParameters(context) != getParameters(context))
      variants.push_back(tiles->getParameters(context));
  };
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  add("heads", number(2 * headsPerGroup));
  add("heads", number(headsPerGroup / 2));
  add("query_stages", number(queryStages - 1));
  add("query_stages", number(queryStages + 1));
  add("overlap", builder.getBoolAttr(!overlaps));
  return variants;
}

DictionaryAttr WarpgroupGradientTiles::getParameters(MLIRContext *context) const {
  Builder builder(context);
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr({number("heads", headsPerGroup), number("query_stages", queryStages),
                                    number("slope_stages", slopeStages), number("sum_stages", sumStages),
                                    builder.getNamedAttr("overlap", builder.getBoolAttr(overlaps))});
}

bool WarpgroupGradientTiles::isFaster(const AttentionSizes &sizes) {
  constexpr int64_t maxMedium = 96;
  int64_t least = sizes.headDim <= maxMedium ? 1024 : 2048;
  return sizes.queries >= least && sizes.keys >= least;
}

int64_t WarpgroupGradientTiles::getColumns() const { return llvm::alignTo(sizes.headDim, 16); }
int64_t WarpgroupGradientTiles::getSlabs() const { return llvm::divideCeilSigned(getColumns(), slabColumns); }

int64_t WarpgroupGradientTiles::getQueryTiles() const {
  return sizes.batches * sizes.queryHeads * llvm::divideCeilSigned(sizes.queries, queriesPerTile);
}
int64_t WarpgroupGradientTiles::getKeyTiles() const {
  return sizes.batches * sizes.keyHeads * llvm::divideCeilSigned(sizes.keys, keysPerTile);
}

int64_t WarpgroupGradientTiles::getTileBytes(int64_t rows) const { return getSlabs() * slabColumns * 2 * rows; }

int64_t WarpgroupGradientTiles::getSumsSharedBytes() const {
  // Barriers take 16 bytes per stage, and those of keys, with two words, 32 bytes.
  constexpr int64_t ring = 16, keyBarriers = 32;
  int64_t tiles = 3 * getTileBytes(keysPerTile) + queryStages * 2 * getTileBytes(queriesPerTile) +
                  slopeStages * keysPerTile * queriesPerTile * 2 + sumStages * queriesPerTile * slabColumns * 4;
  int64_t statistics = queryStages * 2 * queriesPerTile * 4;
  // The first key, and per stage the tile of queries and its head.
  int64_t positions = hasScoreFunction ? 4 + 8 * queryStages : 0;
  // The last 16 tiles of queries, for the threads that add.
  int64_t steps = skipsHiddenTiles ? 4 * 16 : 0;
  return tiles + statistics + keyBarriers + ring * (queryStages + slopeStages + sumStages) + positions + steps +
         slabSlack;
}

int64_t WarpgroupGradientTiles::getRoundSharedBytes() const { return getTileBytes(queriesPerTile) + slabSlack; }

int64_t WarpgroupGradientTiles::getMaskOffset() const {
  int64_t sumsAndStatistics = queriesPerTile * (getColumns() + 2), turns = getSlabs(), nextTile = 1;
  return 4 * (getQueryTiles() * (sumsAndStatistics + turns) + sizes.batches * sizes.keyHeads * getColumns() + nextTile);
}

int64_t WarpgroupGradientTiles::getWorkspaceBytes() const {
  int64_t bytes = getMaskOffset();
  if (skipsHiddenTiles)
    for (const TileMaskText &mask : getMasks())
      bytes += mask.getBytes(sizes);
  return bytes;
}

SmallVector<int64_t, 2> WarpgroupGradientTiles::getLeftTransposedColumns() const {
  int64_t last = getColumns() - (getSlabs() - 1) * slabColumns;
  return getSlabs() == 1 ? SmallVector<int64_t, 2>{last} : SmallVector<int64_t, 2>{slabColumns, last};
}

std::string WarpgroupGradientTiles::getPrepareTemplate(StringRef problem, StringRef element) const {
  return "WarpgroupGradientPrepare<" + problem.str() + ", " + element.str() + ">";
}
std::string WarpgroupGradientTiles::getSumsTemplate(StringRef problem, StringRef wgmma) const {
  std::string text = "WarpgroupGradientSums<" + problem.str() + ", " + wgmma.str();
  for (int64_t number : {headsPerGroup, queryStages, slopeStages, sumStages})
    text += ", " + std::to_string(number);
  return text + (overlaps ? ", true>" : ", false>");
}
std::string WarpgroupGradientTiles::getRoundTemplate(StringRef problem, StringRef wgmma) const {
  return "WarpgroupGradientRound<" + problem.str() + ", " + wgmma.str() + ">";
}
