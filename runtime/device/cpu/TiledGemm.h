//===- TiledGemm.h - GEMMs whose threads take tiles -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CPU_TILEDGEMM_H
#define CS336_RUNTIME_DEVICE_CPU_TILEDGEMM_H

#include "cs336/runtime/Device.h"
#include "device/GemmProblem.h"

#include "absl/status/status.h"

#include <cstdint>

namespace cs336::runtime {

/// A GEMM of which each thread computes whole tiles of C, so that bits do not
/// depend on how many there are.
class TiledGemm : public PreparedCommand {
public:
  absl::Status Execute() final;

protected:
  /// Sides of a tile of C, and the part of the summed axis that is taken at
  /// once.
  static constexpr int64_t kTileRows = 128, kTileColumns = 128, kTileDepth = 256;

  /// A tile of C, in one element of the batch.
  struct Tile {
    int64_t index;
    int64_t row, column, rows, columns;
  };

  explicit TiledGemm(const GemmProblem &problem);

  const GemmProblem &problem() const { return problem_; }

private:
  virtual void ComputeTile(const Tile &tile) const = 0;
  Tile FindTile(int64_t number) const;

  GemmProblem problem_;
  int64_t batch_, row_tiles_, column_tiles_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_TILEDGEMM_H
