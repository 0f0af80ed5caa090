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

/// A matrix as it lies in memory: column-major rows x columns, which a product
/// may want transposed.
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
  char *addend; // Lies as the result does.
};

/// C = A * B on rows is C^T = B^T * A^T on columns: `left` is B, `right` is A,
/// and no matrix is ever copied to transpose it.
struct MatmulLayouts {
  MatmulOperand left, right, result;
  int64_t batch; // Products of one call.
  std::vector<MatmulCall> calls;
};

/// Batch dimensions that lie behind each other alike in all three operands
/// become one. Of what is left the longest is the batch of a call; each
/// element of the others takes a call of its own.
MatmulLayouts DescribeMatmul(const GemmProblem &problem);

/// The largest power of two, at most Storage::kAlignment, that divides all of
/// the addresses. Whatever more an address happens to have says where the
/// buffer lies, not what the problem is.
int64_t CommonAlignment(const std::vector<const void *> &addresses);

/// Bytes that all addresses of an operand are multiples of.
struct MatmulAlignments {
  explicit MatmulAlignments(const MatmulLayouts &layouts);
  int64_t left, right, result, addend;
};

/// Everything that the choice of an algorithm may depend on, as a text: equal
/// problems have equal texts, wherever their buffers lie and whether the
/// product is added to what C holds or to something else. So one algorithm
/// serves all of them, and a product that is computed again has the same bits.
std::string DescribeForTuning(const GemmProblem &problem, const MatmulLayouts &layouts,
                              const MatmulAlignments &alignments, int64_t workspace_bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_MATMULLAYOUTS_H
