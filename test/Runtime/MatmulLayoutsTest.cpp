//===- MatmulLayoutsTest.cpp - From row-major GEMMs to column-major ones --===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plain column-major GEMM with these layouts must compute the result of the
// row-major GEMM, for any strides. This requires no device.
//
//===----------------------------------------------------------------------===//

#include "device/cuda/MatmulLayouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cs336::runtime::matmul_layouts_test {
namespace {

using ::testing::SizeIs;

/// Returns a matrix, row-major unless it is transposed.
struct Matrix {
  double *data;
  int64_t rows, columns;
  bool transposed;
  std::vector<int64_t> batch_strides;
};

void Fill(GemmMatrix &matrix, const Matrix &from) {
  matrix.dtype = DType::kF64;
  matrix.data = reinterpret_cast<char *>(from.data);
  matrix.rows = from.rows;
  matrix.columns = from.columns;
  matrix.row_stride = from.transposed ? 1 : from.columns;
  matrix.column_stride = from.transposed ? from.rows : 1;
  matrix.batch_strides.assign(from.batch_strides.begin(), from.batch_strides.end());
}

GemmProblem Problem(const std::vector<int64_t> &batch, const Matrix &a, const Matrix &b, const Matrix &c) {
  GemmProblem problem;
  problem.batch.assign(batch.begin(), batch.end());
  Fill(problem.a, a);
  Fill(problem.b, b);
  Fill(problem.c, c);
  problem.d = problem.c;
  problem.accumulate = false;
  return problem;
}

/// Returns op(operand)[row, column] of one element of a batch.
double At(const MatmulOperand &operand, const char *data, int64_t index, int64_t row, int64_t column) {
  if (operand.transposed)
    std::swap(row, column);
  EXPECT_LT(row, operand.rows);
  EXPECT_LT(column, operand.columns);
  return reinterpret_cast<const double *>(
      data)[index * operand.batch_stride + column * operand.leading_dimension + row];
}

/// Computes what a column-major library computes with the layouts.
void Multiply(const MatmulLayouts &layouts, int64_t depth) {
  ASSERT_FALSE(layouts.result.transposed);
  ASSERT_GE(layouts.result.leading_dimension, layouts.result.rows);
  for (const MatmulCall &call : layouts.calls)
    for (int64_t i = 0; i != layouts.batch; ++i)
      for (int64_t row = 0; row != layouts.result.rows; ++row)
        for (int64_t column = 0; column != layouts.result.columns; ++column) {
          double sum = 0;
          for (int64_t k = 0; k != depth; ++k)
            sum += At(layouts.left, call.left, i, row, k) * At(layouts.right, call.right, i, k, column);
          reinterpret_cast<double *>(
              call.result)[i * layouts.result.batch_stride + column * layouts.result.leading_dimension + row] = sum;
        }
}

class MatmulLayoutsTest : public ::testing::Test {
protected:
  MatmulLayoutsTest() {
    std::mt19937 random(1);
    for (double &value : a_)
      value = static_cast<double>(random() % 19) - 9;
    for (double &value : b_)
      value = static_cast<double>(random() % 19) - 9;
  }

  /// Compares Multiply() with the GEMM's definition.
  void Check(const GemmProblem &problem) {
    Multiply(DescribeMatmul(problem), problem.a.columns);
    for (int64_t i = 0; i != problem.batch_size(); ++i)
      for (int64_t row = 0; row != problem.c.rows; ++row)
        for (int64_t column = 0; column != problem.c.columns; ++column) {
          double sum = 0;
          for (int64_t k = 0; k != problem.a.columns; ++k)
            sum += Element(problem, problem.a, i, row, k) * Element(problem, problem.b, i, k, column);
          ASSERT_EQ(Element(problem, problem.c, i, row, column), sum) << i << ": " << row << ", " << column;
        }
  }

  double Element(const GemmProblem &problem, const GemmMatrix &matrix, int64_t i, int64_t row, int64_t column) {
    auto *data = reinterpret_cast<double *>(problem.BatchData(matrix, i));
    return data[row * matrix.row_stride + column * matrix.column_stride];
  }

  std::vector<double> a_ = std::vector<double>(4096), b_ = a_, c_ = a_;
};

TEST_F(MatmulLayoutsTest, EitherFactorMayBeTransposed) {
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true}) {
      GemmProblem problem = Problem({}, Matrix{a_.data(), 3, 5, transpose_a, {}},
                                    Matrix{b_.data(), 5, 7, transpose_b, {}}, Matrix{c_.data(), 3, 7, false, {}});
      MatmulLayouts layouts = DescribeMatmul(problem);
      EXPECT_EQ(layouts.left.transposed, transpose_b);
      EXPECT_EQ(layouts.right.transposed, transpose_a);
      Check(problem);
    }
}

TEST_F(MatmulLayoutsTest, RowsMayBePadded) {
  GemmProblem problem = Problem({}, Matrix{a_.data(), 3, 5, false, {}}, Matrix{b_.data(), 5, 7, true, {}},
                                Matrix{c_.data(), 3, 7, false, {}});
  problem.a.row_stride = 11;
  problem.b.column_stride = 9;
  problem.c.row_stride = 8;
  EXPECT_EQ(DescribeMatmul(problem).result.leading_dimension, 8);
  Check(problem);
}

TEST_F(MatmulLayoutsTest, DenseBatchDimensionsAreOneCall) {
  GemmProblem problem = Problem({2, 3}, Matrix{a_.data(), 4, 5, false, {60, 20}},
                                Matrix{b_.data(), 5, 6, true, {90, 30}}, Matrix{c_.data(), 4, 6, false, {72, 24}});
  MatmulLayouts layouts = DescribeMatmul(problem);
  EXPECT_EQ(layouts.batch, 6);
  EXPECT_THAT(layouts.calls, SizeIs(1));
  Check(problem);
}

TEST_F(MatmulLayoutsTest, ABroadcastFactorIsOneCall) {
  GemmProblem problem = Problem({2, 3}, Matrix{a_.data(), 4, 5, false, {60, 20}},
                                Matrix{b_.data(), 5, 6, false, {0, 0}}, Matrix{c_.data(), 4, 6, false, {72, 24}});
  MatmulLayouts layouts = DescribeMatmul(problem);
  EXPECT_EQ(layouts.batch, 6);
  EXPECT_EQ(layouts.left.batch_stride, 0);
  EXPECT_THAT(layouts.calls, SizeIs(1));
  Check(problem);
}

TEST_F(MatmulLayoutsTest, HeadsInsideOfRowsTakeACallForEachSequence) {
  // [sequence 2][head 3] of [position 4, 5] in storage [sequence, position, head, 5].
  GemmProblem problem = Problem({2, 3}, Matrix{a_.data(), 4, 5, false, {60, 5}}, Matrix{b_.data(), 5, 4, true, {60, 5}},
                                Matrix{c_.data(), 4, 4, false, {48, 16}});
  problem.a.row_stride = problem.b.column_stride = 15;
  MatmulLayouts layouts = DescribeMatmul(problem);
  EXPECT_EQ(layouts.batch, 3);
  EXPECT_THAT(layouts.calls, SizeIs(2));
  Check(problem);
}

class DescribeForTuningTest : public ::testing::Test {
protected:
  /// Describes C = A * B with operands at `offset` bytes behind highly aligned
  /// addresses.
  GemmProblem At(int64_t offset) {
    auto address = [&](int64_t place) { return reinterpret_cast<double *>(place + offset); };
    return Problem({}, Matrix{address(0x10000), 4, 6, false, {}}, Matrix{address(0x20000), 6, 8, true, {}},
                   Matrix{address(0x30000), 4, 8, false, {}});
  }
  static std::string Describe(const GemmProblem &problem, int64_t workspace_bytes = 1024) {
    MatmulLayouts layouts = DescribeMatmul(problem);
    return DescribeForTuning(problem, layouts, MatmulAlignments(layouts), workspace_bytes);
  }
};

TEST_F(DescribeForTuningTest, WhereTheBuffersLieMakesNoDifference) {
  for (int64_t offset : {64, 128, 192, 256, 4096})
    EXPECT_EQ(Describe(At(offset)), Describe(At(0))) << offset;
}

TEST_F(DescribeForTuningTest, WhatCHoldsIsAnAddendLikeAnyOther) {
  GemmProblem in_place = At(0), elsewhere = At(0);
  in_place.accumulate = elsewhere.accumulate = true;
  elsewhere.d.data += 0x1000;
  EXPECT_EQ(Describe(in_place), Describe(elsewhere));
  EXPECT_NE(Describe(in_place), Describe(At(0)));
}

TEST_F(DescribeForTuningTest, WhatAlgorithmsDependOnMakesOne) {
  std::string text = Describe(At(0));
  EXPECT_NE(Describe(At(8)), text) << "alignment of all";
  EXPECT_NE(Describe(At(0), 2048), text) << "workspace";
  auto changed = [&](auto change) {
    GemmProblem problem = At(0);
    change(problem);
    return Describe(problem);
  };
  EXPECT_NE(changed([](GemmProblem &problem) { problem.b.data += 8; }), text);
  EXPECT_NE(changed([](GemmProblem &problem) { problem.a.dtype = DType::kF32; }), text);
  EXPECT_NE(changed([](GemmProblem &problem) { problem.precision = format::Precision::tf32; }), text);
  EXPECT_NE(changed([](GemmProblem &problem) { problem.a.row_stride = 7; }), text);
  EXPECT_NE(changed([](GemmProblem &problem) { problem.a.columns = problem.b.rows = 5; }), text);
}

TEST(CommonAlignmentTest, IsTheLargestPowerOfTwo) {
  auto address = [](uintptr_t value) { return reinterpret_cast<const void *>(value); };
  EXPECT_EQ(CommonAlignment({address(0x1040)}), 64);
  EXPECT_EQ(CommonAlignment({address(0x1000)}), 64) << "no more than what every buffer has";
  EXPECT_EQ(CommonAlignment({address(0x1010)}), 16);
  EXPECT_EQ(CommonAlignment({address(0x1000), address(0x1002)}), 2);
  EXPECT_EQ(CommonAlignment({address(0x1001)}), 1);
}

} // namespace
} // namespace cs336::runtime::matmul_layouts_test
