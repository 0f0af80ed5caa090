//===- EigenGemm.cpp - f64 GEMMs by Eigen ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/GemmLibraries.h"
#include "device/cpu/TiledGemm.h"

#include <Eigen/Core>
#include <algorithm>

namespace cs336::runtime {

namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

template <typename Layout>
using Map = Eigen::Map<Layout, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Returns a block of an operand that starts at (row, column).
template <typename Layout>
Map<Layout> MapBlock(const GemmMatrix &matrix, char *data, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  double *start = reinterpret_cast<double *>(data) + row * matrix.row_stride + column * matrix.column_stride;
  int64_t outer = Layout::IsRowMajor ? matrix.row_stride : matrix.column_stride;
  return {start, rows, columns, Eigen::OuterStride<>(outer)};
}

/// A packed block of A and one of B take 256 KiB each.
template <typename LayoutA, typename LayoutB>
class EigenGemm : public TiledGemm {
public:
  explicit EigenGemm(const GemmProblem &problem) : TiledGemm(problem) {}

private:
  void ComputeTile(const Tile &tile) const override {
    const GemmProblem &p = problem();
    char *a = p.BatchData(p.a, tile.index), *b = p.BatchData(p.b, tile.index);
    Map<RowMajor> c =
        MapBlock<RowMajor>(p.c, p.BatchData(p.c, tile.index), tile.row, tile.column, tile.rows, tile.columns);
    if (!p.accumulate)
      c.setZero();
    for (int64_t k = 0; k < p.a.columns; k += kTileDepth) {
      int64_t depth = std::min(kTileDepth, p.a.columns - k);
      c.noalias() += MapBlock<LayoutA>(p.a, a, tile.row, k, tile.rows, depth) *
                     MapBlock<LayoutB>(p.b, b, k, tile.column, depth, tile.columns);
    }
    if (p.bias)
      c.rowwise() +=
          Eigen::Map<const Eigen::RowVectorXd>(reinterpret_cast<const double *>(p.bias) + tile.column, tile.columns);
  }
};

} // namespace

std::unique_ptr<PreparedCommand> PrepareEigenGemm(const GemmProblem &problem) {
  bool rows_a = problem.a.column_stride == 1;
  bool rows_b = problem.b.column_stride == 1;
  if (rows_a && rows_b)
    return std::make_unique<EigenGemm<RowMajor, RowMajor>>(problem);
  if (rows_a)
    return std::make_unique<EigenGemm<RowMajor, ColumnMajor>>(problem);
  if (rows_b)
    return std::make_unique<EigenGemm<ColumnMajor, RowMajor>>(problem);
  return std::make_unique<EigenGemm<ColumnMajor, ColumnMajor>>(problem);
}

} // namespace cs336::runtime
