//===- TiledGemm.h - GEMMs of whole tiles per thread ------------*- C++ -*-===//
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

/// A GEMM whose threads compute whole tiles of C, so that bits do not depend on
/// the number of threads.
class TiledGemm : public PreparedCommand {
public:
  absl::Status Execute() final;

protected:
  /// Sides of a tile of C, and the extent of the reduction axis per step.
  static constexpr int64_t kTileRows = 128, kTileColumns = 128, kTileDepth = 256;

  /// Computes a tile of C in one element of the batch.
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
