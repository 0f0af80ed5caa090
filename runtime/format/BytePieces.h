//===- BytePieces.h - Pieces of storage, by their first byte --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_BYTEPIECES_H
#define CS336_RUNTIME_FORMAT_BYTEPIECES_H

#include <cstdint>
#include <iterator>
#include <map>

namespace cs336::runtime {

/// Pieces of storage that do not overlap: each covers the bytes from its key to
/// its member `end`, and has one value for all of them.
template <typename Piece>
using BytePieces = std::map<int64_t, Piece>;

/// Makes two pieces with the same value of the piece that contains both `byte`
/// and the byte before it, if one does.
template <typename Piece>
void SplitAt(BytePieces<Piece> &pieces, int64_t byte) {
  auto next = pieces.lower_bound(byte);
  if (next == pieces.begin())
    return;
  Piece &piece = std::prev(next)->second;
  if (piece.end <= byte)
    return;
  pieces.insert(next, {byte, piece});
  piece.end = byte;
}

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FORMAT_BYTEPIECES_H
