//===- GemmProblem.h - A GEMM in normal form --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_GEMMPROBLEM_H
#define CS336_RUNTIME_DEVICE_GEMMPROBLEM_H

#include "cs336/runtime/Device.h"

#include <cstdint>
#include <string>

namespace cs336::runtime {

/// One operand: a matrix of rows x columns per element of the batch.
struct GemmMatrix {
  DType dtype;
  char *data;
  int64_t rows, columns;
  int64_t row_stride, column_stride; // In elements; one of them is 1.
  Dims batch_strides;
};

/// C = A * B, or A * B + D, for each element of the batch, then optionally a bias, which is added to each row, and
/// ReLU. C's rows are contiguous: a GEMM whose C is transposed computes C^T = B^T * A^T instead. Batch dimensions of
/// size 1 are removed.
struct GemmProblem {
  Dims batch;
  GemmMatrix a, b, c;
  GemmMatrix d;    // Has the layout of C; often it is C.
  bool accumulate; // True if D is added.
  format::Precision precision = format::Precision::ieee;
  char *bias = nullptr; // c.columns elements of C's type.
  bool relu = false;    // Keeps a NaN.

  int64_t batch_size() const;
  /// Returns true if D is added and is another buffer than C.
  bool has_addend() const { return accumulate && d.data != c.data; }
  /// Returns the operand's address for element `index` of the batch.
  char *BatchData(const GemmMatrix &matrix, int64_t index) const;
};

/// Returns text such as "bf16 x bf16 -> f32, 12 x 64 x 128 x 32, bias, relu":
/// element types, then the batch, rows and columns of C, columns of A, and the
/// epilogue.
std::string ToString(const GemmProblem &problem);

GemmProblem BindGemm(const CommandContext &context, const format::GemmT &gemm);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_GEMMPROBLEM_H
