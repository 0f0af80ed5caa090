//===- MatmulLayouts.h - GEMMs for a column-major library --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_MATMULLAYOUTS_H
#define CS336_RUNTIME_DEVICE_CUDA_MATMULLAYOUTS_H

#include "device/GemmProblem.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336::runtime {

/// A matrix in memory: column-major rows x columns, which a GEMM may read
/// transposed.
struct MatmulOperand {
  DType dtype;
  bool transposed;
  int64_t rows, columns;
  int64_t leading_dimension; // Elements from a column to the next.
  int64_t batch_stride;      // Elements from a matrix to the next; 0 repeats one.
};

/// The addresses of one call.
struct MatmulCall {
  char *left, *right, *result;
  char *addend; // Has the result's layout.
};

/// C = A * B by rows is C^T = B^T * A^T by columns: `left` is B, `right` is A.
/// A matrix is never copied to transpose it.
struct MatmulLayouts {
  MatmulOperand left, right, result;
  int64_t batch; // Matrices of one call.
  std::vector<MatmulCall> calls;
};

/// Merges batch dimensions that are contiguous in all three operands. The
/// longest remaining dimension is the batch of a call; each element of the
/// others is a call of its own.
MatmulLayouts DescribeMatmul(const GemmProblem &problem);

/// Returns the largest power of two, at most Storage::kAlignment, that divides
/// all addresses. A larger alignment depends on the buffer's address and is not
/// a property of the problem.
int64_t CommonAlignment(const std::vector<const void *> &addresses);

/// The alignment of all addresses of an operand in bytes.
struct MatmulAlignments {
  explicit MatmulAlignments(const MatmulLayouts &layouts);
  int64_t left, right, result, addend;
};

/// Returns everything that the choice of an algorithm may depend on, as a text.
/// Equal problems have equal texts, wherever their buffers lie and whether the
/// addend is C itself or another buffer. They therefore use the same algorithm,
/// and a GEMM that is recomputed has the same bits.
std::string DescribeForTuning(const GemmProblem &problem, const MatmulLayouts &layouts,
                              const MatmulAlignments &alignments, int64_t workspace_bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_MATMULLAYOUTS_H
