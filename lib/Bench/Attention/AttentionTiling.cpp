//===- AttentionTiling.cpp - Attention in selected tiles ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionTiling.h"

#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Target/CUDA/TargetDescription.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;
using cuda::ScoreTile;

absl::StatusOr<ScoreTile> bench::parseTile(StringRef text) {
  auto [first, second] = text.split('x');
  bool isSquare = !text.contains('x');
  ScoreTile tile{};
  if (first.getAsInteger(10, tile.queries) || (!isSquare && second.getAsInteger(10, tile.keys)))
    return absl::InvalidArgumentError(absl::StrCat(
        "--tiles has '", text.str(), "': give the queries and the keys of a tile, such as 64x32, or one number"));
  if (isSquare)
    tile.keys = tile.queries;
  for (int64_t side : {tile.queries, tile.keys})
    if (!ScoreTile::isLegalSide(side))
      return absl::InvalidArgumentError(
          absl::StrCat("--tiles has ", side, ", must be ", ScoreTile::describeLegalSides()));
  return tile;
}

std::string bench::describeTile(const ScoreTile &tile) { return absl::StrCat(tile.queries, "x", tile.keys); }

std::string bench::getTileOption(const ScoreTile &tile) {
  return absl::StrCat("extra-after-lowering='cuda-tile-attention{queries=", tile.queries, " keys=", tile.keys, "}'");
}

static Type getElement(ComputeType type, Builder builder) {
  switch (type) {
  case ComputeType::BF16:
    return builder.getBF16Type();
  case ComputeType::FP16:
    return builder.getF16Type();
  case ComputeType::FP32:
  case ComputeType::TF32:
    return builder.getF32Type();
  }
  llvm_unreachable("every type has an element");
}

absl::StatusOr<BlockMemory> bench::getBlockMemory(const AttentionCase &attention, const ScoreTile &tile,
                                                  bool isBackward, ArrayRef<std::string> architectures) {
  MLIRContext context;
  Precision precision = attention.computeType == ComputeType::TF32 ? Precision::TF32 : Precision::IEEE;
  std::string whyNot;
  auto functions = cuda::getTileMemory(tile, attention.headDim, getElement(attention.computeType, Builder(&context)),
                                       precision, isBackward, whyNot);
  if (failed(functions))
    return absl::UnimplementedError(absl::StrCat("the kernel with tiles rejects this attention: it ", whyNot));
  BlockMemory memory;
  for (const cuda::TileMemory &each : *functions)
    if (each.requiredBytes > memory.requiredBytes)
      std::tie(memory.function, memory.requiredBytes) = std::pair(each.function, each.requiredBytes);
  const std::string *least = llvm::min_element(architectures, [](const std::string &a, const std::string &b) {
    return cuda::getTarget(a).sharedBytesPerBlock < cuda::getTarget(b).sharedBytesPerBlock;
  });
  memory.architecture = *least;
  memory.availableBytes = cuda::getTarget(*least).sharedBytesPerBlock;
  return memory;
}

absl::Status bench::checkFit(const BlockMemory &memory, const ScoreTile &tile) {
  if (memory.requiredBytes <= memory.availableBytes)
    return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("a tile of ", describeTile(tile), " requires ", memory.requiredBytes,
                                            " bytes of shared memory per block in the function '",
                                            std::string(memory.function), "', and ", memory.architecture, " has ",
                                            memory.availableBytes, ": choose a smaller tile or head_dim"));
}

StringRef bench::getAttentionFailureText(const absl::Status &status) {
  return absl::IsOutOfRange(status) ? "does not fit" : getFailureText(status);
}
