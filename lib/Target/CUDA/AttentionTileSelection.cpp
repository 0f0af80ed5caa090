//===- AttentionTileSelection.cpp - Attention in selected tiles -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tile sizes that a person selects need not be in the table of measured ones. The templates of
// runtime/kernels/attention_*.cuh accept all that this file accepts; some of them are slow, because a thread has too
// few registers for them.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"

#include "cs336/Target/CUDA/TargetDescription.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

/// Registers of a thread for accumulators and left operands, beside which addresses and the right operand have room.
static constexpr int64_t manyRegisters = 160;
static constexpr int64_t maxStages = 4, maxThreads = 1024;

/// One stage suffices for the forward pass, in which keys and values come in turn.
static int64_t getLeastStages(AttentionStage stage) { return stage == AttentionStage::Forward ? 1 : 2; }

/// Returns the rows of a block, and those of the tiles that it streams.
static std::pair<int64_t, int64_t> getSides(AttentionStage stage, const ScoreTile &tile) {
  return stage == AttentionStage::BackwardKeys ? std::pair(tile.keys, tile.queries)
                                               : std::pair(tile.queries, tile.keys);
}

DictionaryAttr AttentionTiles::getParameters(AttentionStage stage, const ScoreTile &tile, MLIRContext *context) {
  Builder builder(context);
  auto [rows, streamed] = getSides(stage, tile);
  return builder.getDictionaryAttr({builder.getNamedAttr("rows", builder.getI64IntegerAttr(rows)),
                                    builder.getNamedAttr("tile", builder.getI64IntegerAttr(streamed))});
}

bool AttentionTiles::has(DictionaryAttr parameters) const {
  DictionaryAttr own = getParameters();
  return llvm::all_of(parameters,
                      [&](NamedAttribute wanted) { return own.get(wanted.getName()) == wanted.getValue(); });
}

int64_t AttentionTiles::countSums() const {
  bool isForward = stage == AttentionStage::Forward, hasKeys = stage == AttentionStage::BackwardKeys;
  int64_t columns = (isForward ? 1 : 2) * choice.tileRows + (hasKeys ? 2 : 1) * getDepth() / choice.slices;
  return getRowsPerWarp() * columns / 32;
}

int64_t AttentionTiles::countLeft() const {
  int64_t operands = stage == AttentionStage::Forward ? 1 : 2;
  return operands * getRowsPerWarp() * getDepth() * getElementBytes() / 4 / 32;
}

bool AttentionTiles::fitsRegisters() const {
  return countSums() + (choice.keepsLeft ? countLeft() : 0) <= manyRegisters;
}

bool AttentionTiles::divideRows(int64_t rows, int64_t warps) {
  // Groups of 16 rows per warp, or rows per thread, the fastest numbers first.
  int64_t unit = usesTensorCores() ? 16 : 2;
  SmallVector<int64_t, 2> counts = usesTensorCores() ? SmallVector<int64_t, 2>{2, 1} : SmallVector<int64_t, 2>{4, 2};
  constexpr int64_t manyRows = 128;
  for (int64_t count : counts) {
    choice.rows = count;
    choice.warps = rows / (unit * count);
    if (choice.warps == 0 || choice.warps * unit * count != rows || 32 * choice.warps > maxThreads)
      continue;
    // More rows per warp read less from shared memory, and need more warps to hide it.
    bool isFitting = !usesTensorCores() || count == 1 || (rows >= manyRows && countSums() <= manyRegisters);
    if (warps == 0 ? isFitting : warps == choice.warps)
      return true;
  }
  return false;
}

void AttentionTiles::placeLeft() { choice.keepsLeft = usesTensorCores() && countSums() + countLeft() <= manyRegisters; }

FailureOr<AttentionTiles> AttentionTiles::complete(AttentionStage stage, const AttentionSizes &sizes, Type element,
                                                   AttentionArithmetic arithmetic, const TargetDescription &target,
                                                   DictionaryAttr parameters, std::string &whyNot) {
  auto get = [&](StringRef name) {
    auto number = parameters.getAs<IntegerAttr>(name);
    return number ? std::optional(number.getInt()) : std::nullopt;
  };
  auto fail = [&](const Twine &reason) -> FailureOr<AttentionTiles> {
    whyNot = reason.str();
    return failure();
  };
  for (StringRef side : {"rows", "tile"})
    if (!ScoreTile::isLegalSide(get(side).value_or(0)))
      return fail(side + " must be " + ScoreTile::describeLegalSides());
  int64_t least = getLeastStages(stage), stages = get("stages").value_or(least);
  if (stages < least || stages > maxStages)
    return fail("stages must be from " + Twine(least) + " to " + Twine(maxStages));
  bool hasKeys = stage == AttentionStage::BackwardKeys;
  AttentionTiles tiles(stage, sizes, element, arithmetic, {maxHeadDim, 1, 1, *get("tile"), stages, false});
  bool isWide = hasKeys && tiles.usesTensorCores() && tiles.getDepth() > manyRegisters;
  tiles.choice.slices = get("slices").value_or(isWide ? 2 : 1);
  if (tiles.choice.slices != 1 && (tiles.choice.slices != 2 || !hasKeys))
    return fail(Twine("slices must be 1") + (hasKeys ? " or 2" : ""));
  if (!tiles.divideRows(*get("rows"), get("warps").value_or(0)))
    return fail("warps do not share " + Twine(*get("rows")) + " rows evenly: leave them out");
  tiles.placeLeft();
  if (auto keepsLeft = parameters.getAs<BoolAttr>("keep_left"))
    tiles.choice.keepsLeft = keepsLeft.getValue();
  if (tiles.getSharedBytes() > target.sharedBytesPerBlock)
    return fail("they require " + Twine(tiles.getSharedBytes()) + " bytes of shared memory per block, and " +
                target.name + " has " + Twine(target.sharedBytesPerBlock));
  constexpr int64_t fastStages = 2;
  AttentionTiles buffered = tiles;
  buffered.choice.stages = std::max(stages, fastStages);
  return !get("stages") && buffered.getSharedBytes() <= target.sharedBytesPerBlock ? buffered : tiles;
}

FailureOr<AttentionTiles> AttentionTiles::select(AttentionStage stage, const AttentionSizes &sizes, Type element,
                                                 AttentionArithmetic arithmetic, const TargetDescription &target,
                                                 Attribute parameters, std::string &whyNot) {
  auto selected = dyn_cast_or_null<DictionaryAttr>(parameters);
  llvm::SmallSetVector<Attribute, 8> known;
  std::string reason = "parameters are a dictionary";
  if (selected) {
    for (const Choice &choice : getChoices(stage, arithmetic)) {
      AttentionTiles tiles(stage, sizes, element, arithmetic, choice);
      if (!tiles.fits(target.sharedBytesPerBlock))
        continue;
      if (tiles.has(selected))
        return tiles;
      known.insert(tiles.getParameters());
    }
    FailureOr<AttentionTiles> completed = complete(stage, sizes, element, arithmetic, target, selected, reason);
    if (succeeded(completed) && completed->has(selected))
      return completed;
    if (succeeded(completed))
      reason = "a parameter has another name or type than those of measured tiles";
  }
  llvm::raw_string_ostream os(whyNot);
  os << "selects for '" << getStageName(stage) << "' ";
  if (parameters)
    os << parameters;
  else
    os << "nothing";
  os << ": " << reason;
  for (auto [number, each] : llvm::enumerate(known))
    os << (number == 0 ? "; measured tiles are " : ", ") << each;
  return failure();
}

int64_t AttentionTiles::getLeastSharedBytes(AttentionStage stage, const ScoreTile &tile, const AttentionSizes &sizes,
                                            Type element, AttentionArithmetic arithmetic) {
  auto [rows, streamed] = getSides(stage, tile);
  AttentionTiles tiles(stage, sizes, element, arithmetic, {maxHeadDim, 1, 1, streamed, getLeastStages(stage), false});
  tiles.divideRows(rows, /*warps=*/0);
  return tiles.getSharedBytes();
}
