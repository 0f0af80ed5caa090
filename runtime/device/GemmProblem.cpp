//===- GemmProblem.cpp - A GEMM in normal form ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/GemmProblem.h"

#include "absl/strings/str_cat.h"

#include <utility>

namespace cs336::runtime {

namespace {

GemmMatrix BindMatrix(const MutableTensorView &view, const Dims &batch_dims) {
  size_t rank = view.shape().size();
  GemmMatrix matrix;
  matrix.dtype = view.dtype();
  matrix.data = view.mutable_data_as<char>();
  matrix.rows = view.shape()[rank - 2];
  matrix.columns = view.shape()[rank - 1];
  matrix.row_stride = view.strides()[rank - 2];
  matrix.column_stride = view.strides()[rank - 1];
  // The stride of a dimension of size 1 is free. Libraries prefer one that
  // makes the matrix dense in the other dimension, if that one is contiguous.
  if (matrix.columns == 1)
    matrix.column_stride = matrix.row_stride == 1 && matrix.rows > 1 ? matrix.rows : 1;
  if (matrix.rows == 1)
    matrix.row_stride = matrix.column_stride == 1 ? matrix.columns : 1;
  for (int64_t dim : batch_dims)
    matrix.batch_strides.push_back(view.strides()[dim]);
  return matrix;
}

void Transpose(GemmMatrix &matrix) {
  std::swap(matrix.rows, matrix.columns);
  std::swap(matrix.row_stride, matrix.column_stride);
}

} // namespace

int64_t GemmProblem::batch_size() const {
  int64_t size = 1;
  for (int64_t dim : batch)
    size *= dim;
  return size;
}

char *GemmProblem::BatchData(const GemmMatrix &matrix, int64_t index) const {
  int64_t offset = 0;
  for (size_t i = batch.size(); i-- > 0; index /= batch[i])
    offset += index % batch[i] * matrix.batch_strides[i];
  return matrix.data + offset * ByteSize(matrix.dtype);
}

std::string ToString(const GemmProblem &problem) {
  std::string batch;
  for (int64_t dim : problem.batch)
    absl::StrAppend(&batch, dim, " x ");
  return absl::StrCat(Name(problem.a.dtype), " x ", Name(problem.b.dtype), " -> ", Name(problem.c.dtype), ", ", batch,
                      problem.c.rows, " x ", problem.c.columns, " x ", problem.a.columns, problem.bias ? ", bias" : "",
                      problem.relu ? ", relu" : "");
}

GemmProblem BindGemm(const CommandContext &context, const format::GemmT &gemm) {
  GemmProblem problem;
  const Dims &shape = context.buffers[gemm.c].shape();
  Dims batch_dims;
  for (size_t i = 0; i + 2 < shape.size(); ++i)
    if (shape[i] != 1) {
      batch_dims.push_back(i);
      problem.batch.push_back(shape[i]);
    }
  problem.a = BindMatrix(context.buffers[gemm.a], batch_dims);
  problem.b = BindMatrix(context.buffers[gemm.b], batch_dims);
  problem.c = BindMatrix(context.buffers[gemm.c], batch_dims);
  problem.d = BindMatrix(context.buffers[gemm.addend ? *gemm.addend : gemm.c], batch_dims);
  problem.accumulate = gemm.addend.has_value();
  problem.precision = gemm.precision;
  if (gemm.bias) {
    problem.bias = context.buffers[*gemm.bias].mutable_data_as<char>();
    // A bias is added to rows, so a C of one column stays a matrix of rows.
    if (problem.c.columns == 1)
      problem.c.column_stride = problem.d.column_stride = 1;
  }
  problem.relu = gemm.relu;
  if (problem.c.column_stride != 1) {
    Transpose(problem.a);
    Transpose(problem.b);
    Transpose(problem.c);
    Transpose(problem.d);
    std::swap(problem.a, problem.b);
  }
  return problem;
}

} // namespace cs336::runtime
