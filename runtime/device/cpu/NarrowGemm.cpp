//===- NarrowGemm.cpp - GEMMs of 16-bit floats, in f32 --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of the factors are widened into buffers on the stack and multiplied by
// Eigen in f32; a tile of the result is rounded once, when its sums are
// complete. As many bits as a processor's own instructions give, at the speed
// of f32.
//
//===----------------------------------------------------------------------===//

// As in EigenGemm.cpp: nothing is allocated while running.
#define EIGEN_STACK_ALLOCATION_LIMIT (512 * 1024)
#define EIGEN_DONT_PARALLELIZE

#include "device/cpu/GemmLibraries.h"
#include "device/cpu/Parallel.h"
#include "tensor/Elements.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <Eigen/Core>
#include <algorithm>

namespace cs336::runtime {

namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Sides of a tile. Those of A and B take 128 KiB each, that of C 64 KiB.
constexpr int64_t kTileRows = 128, kTileColumns = 128, kTileDepth = 256;

struct Block {
  int64_t row, column, rows, columns;
};

/// Calls `visit` with every element of a block of `matrix` and its place in a
/// dense buffer of that block; neighbours in memory come one after the other.
template <typename T, typename Visit>
void ForEachElement(const GemmMatrix &matrix, char *data, const Block &block, const Visit &visit) {
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

/// Factors of TIn, a result of TOut.
template <typename TIn, typename TOut>
class NarrowGemm : public PreparedCommand {
public:
  explicit NarrowGemm(const GemmProblem &problem)
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
    alignas(64) float a[kTileRows * kTileDepth], b[kTileDepth * kTileColumns], sums[kTileRows * kTileColumns];
    const GemmProblem &p = problem_;
    Block c{tile / column_tiles_ % row_tiles_ * kTileRows, tile % column_tiles_ * kTileColumns, 0, 0};
    c.rows = std::min(kTileRows, p.c.rows - c.row);
    c.columns = std::min(kTileColumns, p.c.columns - c.column);
    int64_t index = tile / column_tiles_ / row_tiles_;
    char *a_data = p.BatchData(p.a, index), *b_data = p.BatchData(p.b, index), *c_data = p.BatchData(p.c, index);

    Eigen::Map<RowMajor> sum(sums, c.rows, c.columns);
    sum.setZero();
    for (int64_t k = 0; k < p.a.columns; k += kTileDepth) {
      int64_t depth = std::min(kTileDepth, p.a.columns - k);
      ForEachElement<const TIn>(p.a, a_data, {c.row, k, c.rows, depth},
                                [&](TIn value, int64_t i) { a[i] = static_cast<float>(value); });
      ForEachElement<const TIn>(p.b, b_data, {k, c.column, depth, c.columns},
                                [&](TIn value, int64_t i) { b[i] = static_cast<float>(value); });
      sum.noalias() += Eigen::Map<const RowMajor>(a, c.rows, depth) * Eigen::Map<const RowMajor>(b, depth, c.columns);
    }
    auto alpha = static_cast<float>(p.alpha);
    const TOut *bias = p.bias ? reinterpret_cast<const TOut *>(p.bias) + c.column : nullptr;
    ForEachElement<TOut>(p.c, c_data, c, [&](TOut &value, int64_t i) {
      float sum = alpha * sums[i] + (p.accumulate ? static_cast<float>(value) : 0.0f);
      value = static_cast<TOut>(bias ? sum + static_cast<float>(bias[i % c.columns]) : sum);
    });
  }

  GemmProblem problem_;
  int64_t batch_, row_tiles_, column_tiles_;
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
