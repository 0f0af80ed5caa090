//===- WarpgroupTiles.cpp - How warpgroups share attention ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupTiles.h"

#include "SelectedParameters.h"
#include "Wgmma.h"
#include "cs336/Target/CUDA/TargetDescription.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace cs336::cuda;

std::string WarpgroupTiles::whyNone(const AttentionSizes &sizes, Type element) {
  if (!element.isBF16() && !element.isF16())
    return "computes in a type other than bf16 and f16";
  if (sizes.headDim < minHeadDim || sizes.headDim > maxHeadDim || sizes.headDim % headDimMultiple != 0)
    return "has a head_dim of " + std::to_string(sizes.headDim) + ", which is not a multiple of " +
           std::to_string(headDimMultiple) + " from " + std::to_string(minHeadDim) + " to " +
           std::to_string(maxHeadDim);
  return "";
}

FailureOr<WarpgroupTiles> WarpgroupTiles::select(AttentionStage stage, const AttentionSizes &sizes, bool isCausal,
                                                 const std::optional<ScoreText> &score, const TargetDescription &target,
                                                 Attribute parameters, std::string &whyNot) {
  bool hasDerivatives = score && !score->distances.onlyShifts;
  WarpgroupTiles tiles = stage == AttentionStage::Forward
                             ? chooseForward(sizes, isCausal, score, target.multiprocessors)
                             : chooseBackward(stage, sizes, score.has_value(), hasDerivatives);
  tiles.skipsHiddenTiles = score && score->inspectsTiles;
  tiles.multipliesBiasSteps = score && score->multipliesBiasSteps;
  SelectedParameters selected(AttentionTiles::getStageName(stage), parameters);
  int64_t ownRows = tiles.getRowsPerBlock();
  selected.read("rows", ownRows);
  selected.read("tile", tiles.streamedRows);
  selected.read("stages", tiles.stages);
  // With three computing warpgroups, the one that also computes the mean of keys has too few registers.
  bool allowsThree = stage != AttentionStage::BackwardQueries;
  if (ownRows != 2 * rows && (ownRows != 3 * rows || !allowsThree))
    return selected.fail(allowsThree ? "rows must be 128 or 192" : "rows must be 128", whyNot);
  tiles.warpgroups = ownRows / rows;
  if (stage == AttentionStage::Forward)
    tiles.valueStages = tiles.stages;
  if (stage == AttentionStage::BackwardQueries)
    selected.read("value_stages", tiles.valueStages);
  if (stage == AttentionStage::BackwardKeys)
    selected.read("overlap", tiles.overlapsTiles);
  if (std::string reason = tiles.whyIllegal(hasDerivatives, target); !reason.empty())
    return selected.fail(reason, whyNot);
  if (stage == AttentionStage::Forward) {
    int64_t heads = tiles.headsPerGroup;
    tiles.headsPerGroup = tiles.chooseHeadsPerGroup(isCausal, target.multiprocessors);
    selected.read("heads", tiles.headsPerGroup);
    if (tiles.headsPerGroup < 1 || tiles.headsPerGroup > heads)
      return selected.fail("heads must be from 1 to " + Twine(heads), whyNot);
    ++tiles.queryStages;
    if (tiles.getSharedBytes() > target.sharedBytesPerBlock)
      --tiles.queryStages;
  }
  if (failed(selected.finish(whyNot)))
    return failure();
  return tiles;
}

std::string WarpgroupTiles::whyIllegal(bool hasDerivatives, const TargetDescription &target) const {
  // The mean of keys is computed from the first rows of a tile (runtime/kernels/sampled_mean.cuh).
  constexpr int64_t step = 16, mostRows = 256, leastStages = 2, mostStages = 8;
  int64_t leastRows =
      stage == AttentionStage::BackwardQueries ? llvm::alignTo(4 * (96 / (sizes.headDim / 8)), step) : step;
  if (streamedRows < leastRows || streamedRows > mostRows || streamedRows % step != 0)
    return "tile must be a multiple of 16 from " + std::to_string(leastRows) + " to " + std::to_string(mostRows);
  auto isOutside = [=](int64_t count) { return count < leastStages || count > mostStages; };
  std::string range = " must be from " + std::to_string(leastStages) + " to " + std::to_string(mostStages);
  if (isOutside(stages))
    return "stages" + range;
  if (stage == AttentionStage::BackwardQueries && isOutside(valueStages))
    return "value_stages" + range;
  if (overlapsTiles && hasDerivatives)
    return "derivatives take the registers with which tiles would overlap";
  return whyTooLarge(countSums(hasDerivatives), getRegisters(), getSharedBytes(), target);
}

std::string cs336::cuda::whyTooLarge(int64_t sums, int64_t registers, int64_t sharedBytes,
                                     const TargetDescription &target) {
  // Addresses, statistics of rows and operands take at least so many registers.
  constexpr int64_t others = 32;
  if (sums > registers - others)
    return "scores and results take " + std::to_string(sums) + " registers of a thread, which has " +
           std::to_string(registers - others) + " for them";
  if (sharedBytes > target.sharedBytesPerBlock)
    return "they require " + std::to_string(sharedBytes) + " bytes of shared memory per block, and " +
           target.name.str() + " has " + std::to_string(target.sharedBytesPerBlock);
  return "";
}

int64_t WarpgroupTiles::getRegisters() const {
  // A block of three warpgroups starts with 168 registers per thread, and one of four with 128. The warpgroup that
  // copies keeps 24 or 32 of them, or more if it also computes the mean of keys, or chooses the tiles of queries
  // (runtime/kernels/warpgroup_roles.cuh).
  bool averages = stage == AttentionStage::BackwardQueries;
  int64_t total = warpgroups == 2 ? 3 * 168 : 4 * 128;
  int64_t copying = warpgroups == 2 ? 24 : 32;
  if (averages)
    copying = skipsHiddenTiles && streamedRows > 64 ? 48 : 40;
  else if (warpgroups == 2 && stage == AttentionStage::Forward && skipsHiddenTiles)
    copying = 40;
  return (total - copying) / warpgroups / 8 * 8;
}

int64_t WarpgroupTiles::countSums(bool hasDerivatives) const {
  // 64 rows of a warpgroup have 128 threads. Two values of a rounded operand share a register.
  int64_t scores = streamedRows / 2, rounded = streamedRows / 4, result = getColumns() / 2;
  switch (stage) {
  case AttentionStage::Forward:
    return scores + rounded + result;
  case AttentionStage::BackwardQueries:
    return (hasDerivatives ? 3 : 2) * scores + rounded + result;
  case AttentionStage::BackwardKeys:
    return (overlapsTiles ? 3 : 2) * scores + rounded + 2 * result;
  }
  llvm_unreachable("unknown stage of attention");
}

int64_t WarpgroupTiles::countPairs(int64_t blocks) const {
  int64_t streamed = stage == AttentionStage::BackwardKeys ? sizes.queries : sizes.keys;
  return llvm::divideCeilSigned(getTiles(), blocks) * getRowsPerBlock() * llvm::alignTo(streamed, streamedRows);
}

SmallVector<DictionaryAttr> WarpgroupTiles::listVariants(const std::optional<ScoreText> &score, bool isCausal,
                                                         const TargetDescription &target, MLIRContext *context) const {
  Builder builder(context);
  SmallVector<std::pair<int64_t, DictionaryAttr>> variants;
  for (int64_t ownRows : {2 * rows, 3 * rows})
    for (int64_t tile : {32, 64, 80, 96, 112, 128, 144, 160}) {
      std::string whyNot;
      DictionaryAttr parameters =
          builder.getDictionaryAttr({builder.getNamedAttr("rows", builder.getI64IntegerAttr(ownRows)),
                                     builder.getNamedAttr("tile", builder.getI64IntegerAttr(tile))});
      FailureOr<WarpgroupTiles> tiles = select(stage, sizes, isCausal, score, target, parameters, whyNot);
      if (succeeded(tiles) && (tiles->warpgroups != warpgroups || tiles->streamedRows != streamedRows))
        variants.emplace_back(tiles->countPairs(target.multiprocessors), tiles->getParameters(context));
    }
  // If the numbers are equal, larger tiles come first: they are read from shared memory less often.
  std::reverse(variants.begin(), variants.end());
  llvm::stable_sort(variants, llvm::less_first());
  return llvm::map_to_vector(variants, [](const auto &each) { return each.second; });
}

DictionaryAttr WarpgroupTiles::getParameters(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> parameters;
  auto add = [&](StringRef name, int64_t value) {
    parameters.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  };
  add("rows", getRowsPerBlock());
  add("tile", streamedRows);
  add("stages", stages);
  if (stage == AttentionStage::Forward)
    add("heads", headsPerGroup);
  if (stage == AttentionStage::BackwardQueries)
    add("value_stages", valueStages);
  if (stage == AttentionStage::BackwardKeys)
    parameters.push_back(builder.getNamedAttr("overlap", builder.getBoolAttr(overlapsTiles)));
  return builder.getDictionaryAttr(parameters);
}

int64_t WarpgroupTiles::chooseHeadsPerGroup(bool isCausal, int64_t blocks) const {
  // The second-level cache of an H100 or H200 has 50 MB, in two halves. Data that multiprocessors of both halves read
  // may be in both.
  constexpr int64_t mostBytes = 22 << 20, bytesPerElement = 2;
  int64_t heads = sizes.batches * sizes.queryHeads;
  int64_t bytes = 2 * bytesPerElement * sizes.keys * sizes.headDim * sizes.keyHeads * sizes.batches;
  if (bytes <= mostBytes)
    return heads;
  int64_t most = std::max(heads * mostBytes / bytes, int64_t(1)), best = most;
  // With fewer heads, the work of blocks differs more.
  for (int64_t candidate = most; candidate >= std::max(most / 2, int64_t(1)); --candidate)
    if (getMostSteps(candidate, isCausal, blocks) < getMostSteps(best, isCausal, blocks))
      best = candidate;
  return best;
}

int64_t WarpgroupTiles::getMostSteps(int64_t headsOfGroup, bool isCausal, int64_t blocks) const {
  // A step is a tile of keys. The start and the end of a tile of queries take about as long as one.
  int64_t heads = sizes.batches * sizes.queryHeads, perHead = getTiles() / heads;
  int64_t groups = llvm::divideCeilSigned(heads, headsOfGroup);
  SmallVector<int64_t> steps(blocks, 0);
  // runtime/kernels/query_tile.cuh and tile_queue.cuh number and distribute the tiles.
  int64_t missing = lastIsFull ? (perHead * getRowsPerBlock() - sizes.queries) / rows * rows : 0, number = 0;
  for (int64_t group : llvm::seq(groups))
    for (int64_t index : llvm::seq(perHead)) {
      bool beginsLast = isCausal && (groups - 1 - group) % 2 == 0;
      int64_t end = (beginsLast ? perHead - index : index + 1) * getRowsPerBlock() - missing;
      int64_t keys = isCausal ? std::min(end, sizes.keys) : sizes.keys;
      for (int64_t last = number + std::min(headsOfGroup, heads - group * headsOfGroup); number != last; ++number) {
        int64_t round = number / blocks, place = number % blocks;
        steps[round % 2 == 0 ? place : blocks - 1 - place] += 1 + llvm::divideCeilSigned(keys, streamedRows);
      }
    }
  return *llvm::max_element(steps);
}

bool WarpgroupTiles::fillsLastTile(const AttentionSizes &sizes, bool isCausal, const std::optional<ScoreText> &score) {
  if (!score)
    return isCausal;
  const DistanceRange &visible = score->distances.visible;
  auto countKeys = [&](int64_t query) {
    return std::min(query - visible.first + 1, sizes.keys) - std::max(query - visible.last, int64_t(0));
  };
  return !score->inspectsTiles && countKeys(sizes.queries - 1) > countKeys(0);
}

/// Returns whether each query may see the key at its own position and all keys before it, and none after it.
static bool seesAllBefore(const AttentionSizes &sizes, const std::optional<ScoreText> &score) {
  return !score || (score->distances.visible.first == 0 && score->distances.visible.last >= sizes.queries - 1);
}

/// Returns the most keys of a tile whose scores and numerators fit into the registers of three warpgroups.
static int64_t getMostKeys(int64_t headDim) {
  constexpr int64_t registers = 128, most = 128, step = 16;
  int64_t result = llvm::alignTo(headDim, step) / 2;
  // A key takes half a register for the score, and a quarter for the numerator.
  return std::min(most, (registers - result) * 4 / 3 / step * step);
}

// Measured on an H200 (docs/Rationale/AttentionByWarpgroups.md). The limits are registers: at most 240 per thread with
// two computing warpgroups, and 160 with three.
WarpgroupTiles WarpgroupTiles::chooseForward(const AttentionSizes &sizes, bool isCausal,
                                             const std::optional<ScoreText> &score, int64_t blocks) {
  bool isNarrow = sizes.headDim <= slabColumns, computesPairs = score && !score->onlyHidesPairs;
  bool lastIsFull = fillsLastTile(sizes, isCausal, score);
  auto make = [&](int64_t warpgroups, int64_t keys) {
    WarpgroupTiles tiles{AttentionStage::Forward, sizes, warpgroups, keys, 2, 2};
    tiles.lastIsFull = lastIsFull;
    return tiles;
  };
  WarpgroupTiles two = make(2, 128), three = make(3, computesPairs ? 96 : getMostKeys(sizes.headDim));
  // A third warpgroup hides more exponentials, but it leaves a thread 160 registers, so that wide heads have smaller
  // tiles of keys. If tiles begin with the first query and there is a mask, the last one has rows without a query, and
  // possibly the most keys. If it computes a score function for single pairs, it has registers for 96 keys of narrow
  // heads.
  constexpr int64_t manyQueries = 4096;
  bool mayHaveThree =
      !score || (isNarrow ? (lastIsFull || sizes.queries >= manyQueries) && !(computesPairs && score->inspectsTiles)
                          : !computesPairs && lastIsFull && seesAllBefore(sizes, score));
  if (!mayHaveThree)
    return two;
  // Tiles with more rows are fewer, so that some blocks may have nothing to do. The time is that of the block with the
  // most pairs, in percent of the time of a pair with two warpgroups.
  auto getTime = [&](const WarpgroupTiles &tiles, int64_t percent) {
    int64_t steps = tiles.getMostSteps(tiles.chooseHeadsPerGroup(isCausal, blocks), isCausal, blocks);
    return percent * steps * tiles.getRowsPerBlock() * tiles.streamedRows;
  };
  return getTime(three, isNarrow ? 81 : 89) < getTime(two, 100) ? three : two;
}

WarpgroupTiles WarpgroupTiles::chooseBackward(AttentionStage stage, const AttentionSizes &sizes, bool hasScore,
                                              bool hasDerivatives) {
  bool isNarrow = sizes.headDim <= slabColumns;
  switch (stage) {
  case AttentionStage::BackwardQueries: {
    // Derivatives take as many registers as scores. The mean of keys is computed from up to 76 rows of a tile if a head
    // has 40 columns, and from at most 64 if it has more.
    constexpr int64_t maxMedium = 96;
    bool isWide = sizes.headDim > maxMedium;
    if (hasDerivatives)
      return {stage, sizes, 2, isWide ? 48 : sizes.headDim > minHeadDim ? 64 : 80, 3, 2};
    if (hasScore)
      return {stage, sizes, 2, isWide ? 64 : 96, 3, 2};
    return {stage, sizes, 2, isNarrow ? 128 : 96, 3, 2};
  }
  case AttentionStage::BackwardKeys: {
    constexpr int64_t maxOverlapped = 96;
    return {stage, sizes, 2, 64, isNarrow ? 4 : 3, 0, sizes.headDim <= maxOverlapped && !hasDerivatives};
  }
  case AttentionStage::Forward:
    break;
  }
  llvm_unreachable("not a stage of the gradient");
}

int64_t WarpgroupTiles::getTiles() const {
  bool hasKeys = stage == AttentionStage::BackwardKeys;
  int64_t length = hasKeys ? sizes.keys : sizes.queries, heads = hasKeys ? sizes.keyHeads : sizes.queryHeads;
  return sizes.batches * heads * llvm::divideCeilSigned(length, getRowsPerBlock());
}

int64_t WarpgroupTiles::getColumns() const { return llvm::alignTo(sizes.headDim, 16); }

int64_t WarpgroupTiles::getTileBytes(int64_t rowsOfTile) const {
  return llvm::divideCeilSigned(sizes.headDim, slabColumns) * slabColumns * 2 * rowsOfTile;
}

int64_t WarpgroupTiles::getSharedBytes() const {
  // Barriers take 16 bytes per stage.
  constexpr int64_t ring = 16;
  int64_t own = getTileBytes(getRowsPerBlock()), streamed = getTileBytes(streamedRows);
  int64_t bytes = slabSlack + own + (ring + own) * queryStages + (ring + streamed) * (stages + valueStages);
  // One word per part of the own tile and stage of the tiles from which hidden ones are left out, and three per chosen
  // tile of queries.
  if (skipsHiddenTiles)
    bytes += 4 * stages * getMask().parts + (stage == AttentionStage::Forward ? 12 * queryStages : 0);
  // One row of 16 bytes per column of scores.
  if (multipliesBiasSteps)
    bytes += 16 * streamedRows;
  if (stage == AttentionStage::BackwardQueries)
    bytes += ring + sizes.headDim * 4 + 96 * 8 * 4;
  if (stage == AttentionStage::BackwardKeys)
    bytes += stages * (streamed + streamedRows * 8);
  return bytes;
}

TileMaskText WarpgroupTiles::getMask() const {
  bool ownsKeys = stage == AttentionStage::BackwardKeys;
  int64_t own = getRowsPerBlock();
  return {ownsKeys ? streamedRows : own, ownsKeys ? own : streamedRows, ownsKeys,
          stage == AttentionStage::Forward ? warpgroups : 1};
}

int64_t WarpgroupTiles::getPaddedQueries() const { return llvm::alignTo(sizes.queries, getRowsPerBlock()); }

SmallVector<int64_t, 2> WarpgroupTiles::getInstructionColumns() const { return {streamedRows, getColumns()}; }

std::string WarpgroupTiles::getTemplate(StringRef problem, StringRef wgmma, int64_t paddedQueries) const {
  static constexpr StringLiteral names[] = {"WarpgroupAttentionForward", "WarpgroupAttentionQueries",
                                            "WarpgroupAttentionKeys"};
  std::string text = names[static_cast<size_t>(stage)].str() + "<" + problem.str() + ", " + wgmma.str() + ", " +
                     std::to_string(warpgroups) + ", " + std::to_string(streamedRows) + ", " + std::to_string(stages);
  if (stage == AttentionStage::Forward)
    text += ", " + std::to_string(queryStages);
  if (headsPerGroup != sizes.batches * sizes.queryHeads)
    text += ", " + std::to_string(headsPerGroup);
  if (stage == AttentionStage::BackwardQueries)
    text += ", " + std::to_string(valueStages);
  if (stage == AttentionStage::BackwardKeys)
    text += (overlapsTiles ? ", true, " : ", false, ") + std::to_string(paddedQueries);
  return text + ">";
}

std::string WarpgroupTiles::describe() const {
  bool hasKeys = stage == AttentionStage::BackwardKeys;
  return std::to_string(getRowsPerBlock()) + (hasKeys ? " keys" : " queries") + " per block of " +
         std::to_string(warpgroups) + " warpgroups and one for copies, " + (hasKeys ? "queries" : "keys") +
         " in tiles of " + std::to_string(streamedRows) + ", by wgmma";
}
