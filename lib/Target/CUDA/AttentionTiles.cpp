//===- AttentionTiles.cpp - How blocks share attention --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"

#include "ExpressionPrinter.h"
#include "cs336/Target/CUDA/TargetDescription.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

AttentionArithmetic cs336::cuda::getAttentionArithmetic(Type element, Precision precision) {
  if (!element.isF32())
    return AttentionArithmetic::TensorCores;
  return precision == Precision::TF32 ? AttentionArithmetic::TensorFloats : AttentionArithmetic::FusedMultiplyAdds;
}

/// Three blocks per multiprocessor. With fewer blocks, smaller tiles are faster, although larger tiles reuse more of
/// the elements that they read.
static constexpr int64_t manyBlocks = 3 * portableTarget.multiprocessors;
static constexpr int64_t manyRows = 2048;

// Returns measured tile sizes, fastest first (docs/Rationale/AttentionKernels.md). The first tiles that fit are used.
ArrayRef<AttentionTiles::Choice> AttentionTiles::getChoices(AttentionStage stage, AttentionArithmetic arithmetic) {
  static constexpr Choice forward[] = {{64, 2, 4, 64, 1, true, 1, manyBlocks, manyRows}, {64, 1, 4, 64, 2, true},
                                       {80, 2, 4, 64, 2, true, 1, manyBlocks},           {96, 1, 4, 64, 1, true},
                                       {128, 2, 4, 48, 1, false, 1, manyBlocks},         {256, 1, 4, 64, 1, false}};
  static constexpr Choice queries[] = {{64, 2, 4, 64, 2, false, 1, manyBlocks, manyRows},
                                       {64, 1, 4, 64, 2, true},
                                       {96, 1, 4, 32, 2, true},
                                       {128, 2, 4, 32, 2, false, 1, manyBlocks},
                                       {128, 1, 4, 32, 2, true},
                                       {192, 1, 4, 32, 2, false},
                                       {256, 1, 4, 16, 2, false}};
  static constexpr Choice keys[] = {{64, 2, 4, 32, 2, false, 1, manyBlocks, manyRows},
                                    {128, 1, 4, 64, 2, false},
                                    {160, 1, 4, 32, 2, false},
                                    {256, 1, 4, 16, 2, false, 2}};
  static constexpr Choice forwardTF32[] = {{64, 2, 4, 32, 2, false, 1, manyBlocks},
                                           {64, 1, 4, 64, 1, false},
                                           {80, 1, 4, 32, 2, true},
                                           {128, 1, 4, 64, 1, false},
                                           {256, 1, 2, 16, 2, false}};
  static constexpr Choice queriesTF32[] = {
      {80, 1, 4, 32, 2, true}, {128, 1, 2, 32, 2, false}, {256, 1, 1, 16, 2, false}};
  static constexpr Choice keysTF32[] = {
      {80, 1, 4, 32, 2, true}, {128, 1, 2, 16, 2, false}, {256, 1, 1, 16, 2, false, 2}};
  static constexpr Choice forwardFMA[] = {
      {128, 4, 8, 64, 1, false, 1, manyBlocks}, {128, 4, 4, 64, 1, false}, {256, 2, 4, 16, 1, false}};
  static constexpr Choice backwardFMA[] = {{128, 4, 8, 32, 2, false, 1, manyBlocks},
                                           {128, 4, 4, 32, 2, false},
                                           {192, 4, 4, 16, 2, false},
                                           {256, 2, 4, 16, 2, false}};
  bool isForward = stage == AttentionStage::Forward, isOfQueries = stage == AttentionStage::BackwardQueries;
  auto select = [&](ArrayRef<Choice> forward, ArrayRef<Choice> queries, ArrayRef<Choice> keys) {
    return isForward ? forward : isOfQueries ? queries : keys;
  };
  switch (arithmetic) {
  case AttentionArithmetic::TensorCores:
    return select(forward, queries, keys);
  case AttentionArithmetic::TensorFloats:
    return select(forwardTF32, queriesTF32, keysTF32);
  case AttentionArithmetic::FusedMultiplyAdds:
    return select(forwardFMA, backwardFMA, backwardFMA);
  }
  llvm_unreachable("every arithmetic has tiles");
}

std::string AttentionTiles::whyNone(const AttentionSizes &sizes, Type element) {
  if (element.isF64())
    return "computes in float64";
  if (sizes.headDim > maxHeadDim)
    return "has a head_dim of " + std::to_string(sizes.headDim) + ", which is above " + std::to_string(maxHeadDim);
  return "";
}

// Every architecture gets tiles within the shared memory that all have, 99 KiB. With 163 or 227 KiB, large problems
// would get tiles from earlier in the table that have never been the default for their head_dim, such as 8 warps for
// the forward pass in float32 with a head_dim of 128. Tiles that a person or --autotune selects may use all shared
// memory of their architecture.
AttentionTiles AttentionTiles::choose(AttentionStage stage, const AttentionSizes &sizes, Type element,
                                      AttentionArithmetic arithmetic) {
  for (const Choice &choice : getChoices(stage, arithmetic))
    if (AttentionTiles tiles(stage, sizes, element, arithmetic, choice);
        tiles.fits(portableTarget.sharedBytesPerBlock) && tiles.isFast())
      return tiles;
  llvm_unreachable("the last choice fits every head");
}

StringRef AttentionTiles::getStageName(AttentionStage stage) {
  static constexpr StringLiteral names[] = {"forward", "queries", "keys"};
  return names[static_cast<size_t>(stage)];
}

DictionaryAttr AttentionTiles::getParameters() const {
  Builder builder(element.getContext());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr({number("rows", getRowsPerBlock()), number("warps", choice.warps),
                                    number("tile", choice.tileRows), number("stages", choice.stages),
                                    builder.getNamedAttr("keep_left", builder.getBoolAttr(choice.keepsLeft)),
                                    number("slices", choice.slices)});
}

bool AttentionTiles::fits(int64_t sharedBytes) const {
  return getDepth() <= choice.maxDepth && getSharedBytes() <= sharedBytes;
}

bool AttentionTiles::isFast() const {
  int64_t streamed = stage == AttentionStage::BackwardKeys ? sizes.queries : sizes.keys;
  return getBlocks() >= choice.minBlocks && streamed >= choice.minStreamed;
}

int64_t AttentionTiles::getDepth() const {
  return llvm::alignTo(sizes.headDim, (usesTensorCores() ? 16 : 4) * choice.slices);
}

int64_t AttentionTiles::getPitch() const {
  int64_t chunks = getDepth() * getElementBytes() / 16;
  bool isPermuted = getElementBytes() == 2 && chunks % 8 == 0;
  return (isPermuted ? chunks : chunks | 1) * 16;
}

int64_t AttentionTiles::getBlocks() const {
  bool hasKeys = stage == AttentionStage::BackwardKeys;
  int64_t rows = hasKeys ? sizes.keys : sizes.queries, heads = hasKeys ? sizes.keyHeads : sizes.queryHeads;
  return sizes.batches * heads * choice.slices * llvm::divideCeilSigned(rows, getRowsPerBlock());
}

int64_t AttentionTiles::getSharedBytes() const {
  // The left operands: the queries; in the backward pass queries and output gradients, or keys and values.
  int64_t left = stage == AttentionStage::Forward ? 1 : 2;
  int64_t bytes = getPitch() * (left * getRowsPerBlock() + 2 * choice.stages * choice.tileRows);
  if (stage == AttentionStage::BackwardKeys)
    bytes += 2 * choice.stages * choice.tileRows * sizeof(float);
  if (!usesTensorCores())
    bytes += choice.warps * getRowsPerWarp() * (choice.tileRows + 4) * sizeof(float);
  return bytes;
}

std::string AttentionTiles::getTemplate(StringRef problem) const {
  static constexpr StringLiteral stages[] = {"AttentionForward", "AttentionBackwardQueries", "AttentionBackwardKeys"};
  static constexpr StringLiteral rows[] = {"TensorCoreRowBlock", "TensorFloatRowBlock", "FmaRowBlock"};
  std::string type = element.isF32() ? std::string() : ExpressionPrinter::getStorageType(element).str() + ", ";
  auto print = [](bool value) { return value ? "true" : "false"; };
  std::string text = stages[static_cast<size_t>(stage)].str() + "<" + problem.str() + ", " +
                     rows[static_cast<size_t>(arithmetic)].str() + "<" + type + std::to_string(choice.rows) + ">, " +
                     std::to_string(choice.warps) + ", " + std::to_string(choice.tileRows) + ", " +
                     std::to_string(choice.stages) + ", " + print(choice.keepsLeft);
  if (stage == AttentionStage::BackwardKeys)
    text += ", " + std::to_string(choice.slices);
  return text + ">";
}

std::string AttentionTiles::describe() const {
  static constexpr StringLiteral units[] = {"tensor cores", "tensor cores in tf32", "fused multiply-adds"};
  bool hasKeys = stage == AttentionStage::BackwardKeys;
  std::string text = std::to_string(getRowsPerBlock()) + (hasKeys ? " keys" : " queries") + " per block of " +
                     std::to_string(choice.warps) + (choice.warps == 1 ? " warp, " : " warps, ") +
                     (hasKeys ? "queries" : "keys") + " in tiles of " + std::to_string(choice.tileRows);
  if (choice.slices > 1)
    text += ", each column in one of " + std::to_string(choice.slices) + " blocks";
  return text + ", by " + units[static_cast<size_t>(arithmetic)].str();
}
