//===- MatmulLayouts.cpp - GEMMs for a column-major library ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/MatmulLayouts.h"

#include "cs336/runtime/Storage.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstddef>

namespace cs336::runtime {

namespace {

/// A column-major reader sees a row-major matrix as its transpose, which is the
/// operand that the GEMM of the transposes needs.
MatmulOperand Describe(const GemmMatrix &matrix) {
  MatmulOperand operand;
  operand.dtype = matrix.dtype;
  operand.transposed = matrix.column_stride != 1;
  operand.rows = operand.transposed ? matrix.rows : matrix.columns;
  operand.columns = operand.transposed ? matrix.columns : matrix.rows;
  operand.leading_dimension = operand.transposed ? matrix.column_stride : matrix.row_stride;
  operand.batch_stride = 0;
  return operand;
}

bool Continues(const GemmMatrix &matrix, size_t outer, int64_t inner_size) {
  return matrix.batch_strides[outer] == matrix.batch_strides[outer + 1] * inner_size;
}

/// Merges each batch dimension with the next inner one if the strides of all
/// operands allow it.
GemmProblem JoinBatch(GemmProblem problem) {
  for (size_t i = problem.batch.size(); i-- > 1;) {
    int64_t size = problem.batch[i];
    size_t outer = i - 1;
    if (!Continues(problem.a, outer, size) || !Continues(problem.b, outer, size) ||
        !Continues(problem.c, outer, size) || !Continues(problem.d, outer, size))
      continue;
    problem.batch[outer] *= size;
    problem.batch.erase(problem.batch.begin() + i);
    for (GemmMatrix *matrix : {&problem.a, &problem.b, &problem.c, &problem.d})
      matrix->batch_strides.erase(matrix->batch_strides.begin() + outer);
  }
  return problem;
}

} // namespace

MatmulLayouts DescribeMatmul(const GemmProblem &given) {
  GemmProblem problem = JoinBatch(given);
  MatmulLayouts layouts{Describe(problem.b), Describe(problem.a), Describe(problem.c), 1, {}};
  if (!problem.batch.empty()) {
    size_t longest = std::max_element(problem.batch.begin(), problem.batch.end()) - problem.batch.begin();
    layouts.batch = problem.batch[longest];
    layouts.left.batch_stride = problem.b.batch_strides[longest];
    layouts.right.batch_stride = problem.a.batch_strides[longest];
    layouts.result.batch_stride = problem.c.batch_strides[longest];
    problem.batch.erase(problem.batch.begin() + longest);
    for (GemmMatrix *matrix : {&problem.a, &problem.b, &problem.c, &problem.d})
      matrix->batch_strides.erase(matrix->batch_strides.begin() + longest);
  }
  for (int64_t i = 0, calls = problem.batch_size(); i != calls; ++i)
    layouts.calls.push_back({problem.BatchData(problem.b, i), problem.BatchData(problem.a, i),
                             problem.BatchData(problem.c, i), problem.BatchData(problem.d, i)});
  return layouts;
}

int64_t CommonAlignment(const std::vector<const void *> &addresses) {
  uintptr_t bits = Storage::kAlignment;
  for (const void *address : addresses)
    bits |= reinterpret_cast<uintptr_t>(address);
  return static_cast<int64_t>(bits & -bits);
}

MatmulAlignments::MatmulAlignments(const MatmulLayouts &layouts) {
  auto common = [&](char *MatmulCall::*operand) {
    std::vector<const void *> addresses;
    for (const MatmulCall &call : layouts.calls)
      addresses.push_back(call.*operand);
    return CommonAlignment(addresses);
  };
  left = common(&MatmulCall::left);
  right = common(&MatmulCall::right);
  result = common(&MatmulCall::result);
  addend = common(&MatmulCall::addend);
}

std::string DescribeForTuning(const GemmProblem &problem, const MatmulLayouts &layouts,
                              const MatmulAlignments &alignments, int64_t workspace_bytes) {
  auto describe = [](const MatmulOperand &operand) {
    return absl::StrCat(operand.transposed ? "T" : "N", " ld ", operand.leading_dimension, " step ",
                        operand.batch_stride);
  };
  return absl::StrCat(Name(problem.a.dtype), " x ", Name(problem.b.dtype), " -> ", Name(problem.c.dtype), " ",
                      format::EnumNamePrecision(problem.precision), ", ", layouts.batch, " of ", problem.c.columns,
                      " x ", problem.c.rows, " x ", problem.a.columns, ", left ", describe(layouts.left), ", right ",
                      describe(layouts.right), ", result ", describe(layouts.result), ", aligned ", alignments.left,
                      " ", alignments.right, " ", alignments.result,
                      problem.accumulate ? absl::StrCat(", plus an addend aligned ", alignments.addend) : "",
                      problem.bias ? absl::StrCat(", bias aligned ", CommonAlignment({problem.bias})) : "",
                      problem.relu ? ", relu" : "", ", workspace ", workspace_bytes);
}

} // namespace cs336::runtime
