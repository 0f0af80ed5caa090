//===- TileMaskText.cpp - Bits of tiles that data hides -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileMaskText.h"

#include "llvm/Support/MathExtras.h"

using namespace cs336::cuda;

int64_t TileMaskText::getRows(const AttentionSizes &sizes) const {
  return sizes.batches * (ownsKeys ? llvm::divideCeilSigned(sizes.keys, keysPerTile)
                                   : llvm::divideCeilSigned(sizes.queries, queriesPerTile));
}

int64_t TileMaskText::getWords(const AttentionSizes &sizes) const {
  constexpr int64_t tilesPerWord = 32;
  int64_t streamed = ownsKeys ? llvm::divideCeilSigned(sizes.queries, queriesPerTile)
                              : llvm::divideCeilSigned(sizes.keys, keysPerTile);
  return llvm::divideCeilSigned(streamed, tilesPerWord);
}

int64_t TileMaskText::getBytes(const AttentionSizes &sizes) const {
  return getRows(sizes) * (getWords(sizes) * parts + 1) * bytesPerWord;
}

std::string TileMaskText::print(llvm::StringRef problem) const {
  std::string ofParts = parts > 1 ? (", " + llvm::Twine(parts)).str() : "";
  return ("TileMask<" + problem + ", " + llvm::Twine(queriesPerTile) + ", " + llvm::Twine(keysPerTile) +
          (ownsKeys ? ", true" : ", false") + ofParts + ">")
      .str();
}
