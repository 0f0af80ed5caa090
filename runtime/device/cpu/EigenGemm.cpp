//===- EigenGemm.cpp - f64 GEMMs by Eigen ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Eigen takes the space for packed blocks from the stack up to a limit and from
// the heap above it. Products of tiles of bounded size stay under a limit that
// every thread's stack can hold, so that nothing is allocated while running.
#define EIGEN_STACK_ALLOCATION_LIMIT (512 * 1024)
#define EIGEN_DONT_PARALLELIZE

#include "device/cpu/GemmLibraries.h"
#include "device/cpu/Parallel.h"

#include <Eigen/Core>
#include <algorithm>

namespace cs336::runtime {

namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

template <typename Layout>
using Map = Eigen::Map<Layout, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Sides of a tile. A packed block of A, and one of B, take 256 KiB.
constexpr int64_t kTileRows = 128, kTileColumns = 128, kTileDepth = 256;

/// A block of an operand that starts at (row, column).
template <typename Layout>
Map<Layout> Block(const GemmMatrix &matrix, char *data, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  double *start = reinterpret_cast<double *>(data) + row * matrix.row_stride + column * matrix.column_stride;
  int64_t outer = Layout::IsRowMajor ? matrix.row_stride : matrix.column_stride;
  return {start, rows, columns, Eigen::OuterStride<>(outer)};
}

template <typename LayoutA, typename LayoutB>
class EigenGemm : public PreparedCommand {
public:
  explicit EigenGemm(const GemmProblem &problem)
      : problem_(problem), batch_(problem.batch_size()), row_tiles_(CeilDiv(problem.c.rows, kTileRows)),
        column_tiles_(CeilDiv(problem.c.columns, kTileColumns)) {}

  absl::Status Execute() override {
    ParallelFor(batch_ * row_tiles_ * column_tiles_, /*grain=*/1, [this](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile != end; ++tile)
        ComputeTile(tile);
    });
    return absl::OkStatus();
  }

private:
  static int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

  void ComputeTile(int64_t tile) const {
    int64_t column = tile % column_tiles_ * kTileColumns;
    int64_t row = tile / column_tiles_ % row_tiles_ * kTileRows;
    int64_t index = tile / column_tiles_ / row_tiles_;
    const GemmProblem &p = problem_;
    int64_t rows = std::min(kTileRows, p.c.rows - row);
    int64_t columns = std::min(kTileColumns, p.c.columns - column);
    char *a = p.BatchData(p.a, index), *b = p.BatchData(p.b, index);
    Map<RowMajor> c = Block<RowMajor>(p.c, p.BatchData(p.c, index), row, column, rows, columns);
    if (!p.accumulate)
      c.setZero();
    for (int64_t k = 0; k < p.a.columns; k += kTileDepth) {
      int64_t depth = std::min(kTileDepth, p.a.columns - k);
      c.noalias() +=
          p.alpha * Block<LayoutA>(p.a, a, row, k, rows, depth) * Block<LayoutB>(p.b, b, k, column, depth, columns);
    }
    if (p.bias)
      c.rowwise() += Eigen::Map<const Eigen::RowVectorXd>(reinterpret_cast<const double *>(p.bias) + column, columns);
  }

  GemmProblem problem_;
  int64_t batch_, row_tiles_, column_tiles_;
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
