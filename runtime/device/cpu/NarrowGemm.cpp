//===- NarrowGemm.cpp - GEMMs of 16-bit floats, in f32 --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of the operands are widened into buffers on the stack and multiplied by
// Eigen in f32. A tile of the result is rounded once, when its sums are
// complete. The result is as exact as that of a processor's own 16-bit
// instructions, at the speed of f32.
//
//===----------------------------------------------------------------------===//

#include "device/cpu/GemmLibraries.h"
#include "device/cpu/TiledGemm.h"
#include "tensor/Elements.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <Eigen/Core>
#include <algorithm>

namespace cs336::runtime {

namespace {

using RowMajorF32 = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct TileBlock {
  int64_t row, column, rows, columns;
};

/// Calls `visit` with every element of a block of `matrix` and its index in a
/// dense buffer of that block, in the order of memory.
template <typename T, typename Visit>
void ForEachElement(const GemmMatrix &matrix, char *data, const TileBlock &block, const Visit &visit) {
  T *start = reinterpret_cast<T *>(data) + block.row * matrix.row_stride + block.column * matrix.column_stride;
  if (matrix.column_stride == 1) {
    for (int64_t i = 0; i != block.rows; ++i)
      for (int64_t j = 0; j != block.columns; ++j)
        visit(start[i * matrix.row_stride + j], i * block.columns + j);
    return;
  }
  for (int64_t j = 0; j != block.columns; ++j)
    for (int64_t i = 0; i != block.rows; ++i)
      visit(start[i + j * matrix.column_stride], i * block.columns + j);
}

/// A GEMM of operands of TIn with a result of TOut. Tiles of A and B take 128
/// KiB each, the tile of C 64 KiB.
template <typename TIn, typename TOut>
class NarrowGemm : public TiledGemm {
public:
  explicit NarrowGemm(const GemmProblem &problem) : TiledGemm(problem) {}

private:
  void ComputeTile(const Tile &tile) const override {
    alignas(64) float a[kTileRows * kTileDepth], b[kTileDepth * kTileColumns], sums[kTileRows * kTileColumns];
    const GemmProblem &p = problem();
    TileBlock c{tile.row, tile.column, tile.rows, tile.columns};
    char *a_data = p.BatchData(p.a, tile.index), *b_data = p.BatchData(p.b, tile.index),
         *c_data = p.BatchData(p.c, tile.index);

    Eigen::Map<RowMajorF32> sum(sums, c.rows, c.columns);
    sum.setZero();
    for (int64_t k = 0; k < p.a.columns; k += kTileDepth) {
      int64_t depth = std::min(kTileDepth, p.a.columns - k);
      ForEachElement<const TIn>(p.a, a_data, {c.row, k, c.rows, depth},
                                [&](TIn value, int64_t i) { a[i] = static_cast<float>(value); });
      ForEachElement<const TIn>(p.b, b_data, {k, c.column, depth, c.columns},
                                [&](TIn value, int64_t i) { b[i] = static_cast<float>(value); });
      sum.noalias() +=
          Eigen::Map<const RowMajorF32>(a, c.rows, depth) * Eigen::Map<const RowMajorF32>(b, depth, c.columns);
    }
    const TOut *bias = p.bias ? reinterpret_cast<const TOut *>(p.bias) + c.column : nullptr;
    ForEachElement<TOut>(p.c, c_data, c, [&](TOut &value, int64_t i) {
      float sum = sums[i] + (p.accumulate ? static_cast<float>(value) : 0.0f);
      value = static_cast<TOut>(bias ? sum + static_cast<float>(bias[i % c.columns]) : sum);
    });
  }
};

template <typename TIn>
absl::StatusOr<std::unique_ptr<PreparedCommand>> Prepare(const GemmProblem &problem) {
  if (problem.c.dtype == problem.a.dtype)
    return std::make_unique<NarrowGemm<TIn, TIn>>(problem);
  if (problem.c.dtype == DType::kF32)
    return std::make_unique<NarrowGemm<TIn, float>>(problem);
  return absl::UnimplementedError(absl::StrCat("the CPU has no GEMM for ", ToString(problem)));
}

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareNarrowGemm(const GemmProblem &problem) {
  bool same = problem.a.dtype == problem.b.dtype;
  if (same && problem.a.dtype == DType::kF16)
    return Prepare<Eigen::half>(problem);
  if (same && problem.a.dtype == DType::kBF16)
    return Prepare<Eigen::bfloat16>(problem);
  return absl::UnimplementedError(absl::StrCat("the CPU has no GEMM for ", ToString(problem)));
}

} // namespace cs336::runtime
