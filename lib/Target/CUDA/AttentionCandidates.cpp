//===- AttentionCandidates.cpp - Tile sizes worth timing ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionCost.h"
#include "cs336/Target/CUDA/TargetDescription.h"
#include "mlir/IR/Builders.h"

#include <algorithm>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

AttentionWork AttentionTiles::getWork(bool isCausal) const {
  bool isForward = stage == AttentionStage::Forward, ownsKeys = stage == AttentionStage::BackwardKeys;
  int64_t rows = getRowsPerBlock(), depth = getDepth(), scores = rows * choice.tileRows;
  // The columns that all matmuls of a tile sum over or result in: scores and dP are computed by each slice.
  int64_t matmuls = isForward ? 2 : ownsKeys ? 4 : 3;
  int64_t columns = ownsKeys ? 2 * depth + 2 * depth / choice.slices : matmuls * depth;
  int64_t right = matmuls * choice.tileRows * getPitch() * choice.warps;
  int64_t left = choice.keepsLeft ? 0 : (isForward ? 1 : 2) * rows * getPitch();
  // A thread also holds addresses, statistics of its rows and the right operand.
  constexpr int64_t otherRegisters = 72, maxRegisters = 255;
  int64_t registers = countSums() + (choice.keepsLeft ? countLeft() : 0) + otherRegisters;
  int64_t heads = sizes.batches * (ownsKeys ? sizes.keyHeads : sizes.queryHeads) * choice.slices;
  auto [length, streamed] = ownsKeys ? std::pair(sizes.keys, sizes.queries) : std::pair(sizes.queries, sizes.keys);
  return {arithmetic,
          {getThreads(), std::min(registers, maxRegisters), getSharedBytes()},
          getBlocks(),
          heads * countVisibleTiles(length, rows, streamed, choice.tileRows, isCausal, ownsKeys),
          choice.stages,
          2 * scores * columns,
          scores,
          right + left,
          2 * choice.tileRows * getPitch()};
}

std::vector<AttentionTiles> AttentionTiles::listCandidates(AttentionStage stage, const AttentionSizes &sizes,
                                                           Type element, AttentionArithmetic arithmetic, bool isCausal,
                                                           const TargetDescription &target) {
  AttentionTiles chosen = choose(stage, sizes, element, arithmetic);
  std::vector<AttentionTiles> others;
  auto add = [&](const AttentionTiles &tiles) {
    auto isSame = [&](const AttentionTiles &other) { return other.getParameters() == tiles.getParameters(); };
    if (!isSame(chosen) && llvm::none_of(others, isSame))
      others.push_back(tiles);
  };
  for (const Choice &choice : getChoices(stage, arithmetic))
    if (AttentionTiles tiles(stage, sizes, element, arithmetic, choice); tiles.fits(target.sharedBytesPerBlock))
      add(tiles);
  Builder builder(element.getContext());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  for (int64_t rows : {32, 64, 128})
    for (int64_t tile : {16, 32, 64, 128}) {
      std::string whyNot;
      FailureOr<AttentionTiles> tiles =
          complete(stage, sizes, element, arithmetic, target,
                   builder.getDictionaryAttr({number("rows", rows), number("tile", tile)}), whyNot);
      if (succeeded(tiles) && tiles->fitsRegisters())
        add(*tiles);
    }
  llvm::stable_sort(others, [&](const AttentionTiles &a, const AttentionTiles &b) {
    return predictClocks(a.getWork(isCausal), target) < predictClocks(b.getWork(isCausal), target);
  });
  others.insert(others.begin(), chosen);
  return others;
}
