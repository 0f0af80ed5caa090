//===- TiledGemm.cpp - GEMMs of whole tiles per thread --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/TiledGemm.h"

#include "parallel/Parallel.h"

#include <algorithm>

namespace cs336::runtime {

namespace {
int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
} // namespace

TiledGemm::TiledGemm(const GemmProblem &problem)
    : problem_(problem), batch_(problem.batch_size()), row_tiles_(CeilDiv(problem.c.rows, kTileRows)),
      column_tiles_(CeilDiv(problem.c.columns, kTileColumns)) {}

absl::Status TiledGemm::Execute() {
  ParallelFor(batch_ * row_tiles_ * column_tiles_, /*grain=*/1, [this](int64_t begin, int64_t end) {
    for (int64_t number = begin; number != end; ++number)
      ComputeTile(FindTile(number));
  });
  return absl::OkStatus();
}

TiledGemm::Tile TiledGemm::FindTile(int64_t number) const {
  Tile tile;
  tile.index = number / column_tiles_ / row_tiles_;
  tile.row = number / column_tiles_ % row_tiles_ * kTileRows;
  tile.column = number % column_tiles_ * kTileColumns;
  tile.rows = std::min(kTileRows, problem_.c.rows - tile.row);
  tile.columns = std::min(kTileColumns, problem_.c.columns - tile.column);
  return tile;
}

} // namespace cs336::runtime
