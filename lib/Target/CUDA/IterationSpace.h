//===- IterationSpace.h - Loops merged, vectors and index types chosen -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_ITERATIONSPACE_H
#define CS336_LIB_TARGET_CUDA_ITERATIONSPACE_H

#include "KernelProgram.h"

#include <optional>

namespace cs336::cuda {

/// An index as a sum: constant + Σ coefficients[d] · d.
struct LinearForm {
  llvm::SmallVector<int64_t> coefficients;
  int64_t constant = 0;
};

/// None if the index divides or takes remainders.
std::optional<LinearForm> getLinearForm(mlir::AffineExpr index, unsigned numDims);

/// Drops dimensions of extent one and merges neighbouring dimensions of a nest that every index walks through as if
/// they were one, so that threads divide by as few extents as possible: with contiguous operands of one shape by none.
void mergeDimensions(KernelProgram &program);

/// The largest value that the index takes. Raises `largestPart`, if given, to the largest that the index or a part of
/// it takes.
int64_t getLargestValue(mlir::AffineExpr index, llvm::ArrayRef<int64_t> extents, int64_t *largestPart = nullptr);

/// How many neighbouring elements along `dim` a thread takes: as many as make its narrowest access 16 bytes (8 at
/// most), if every operand is either contiguous along that dimension and aligned or does not depend on it, and no box
/// begins or ends within a vector; else one.
int64_t chooseVectorWidth(const KernelProgram &program, const DeviceKernel &kernel, unsigned dim);

/// Returns whether the operands that most elements are read from are contiguous along the dimension.
bool isContiguousAlong(const KernelProgram &program, unsigned dim);

/// Returns whether the number of points, of a nest's iterations or an operand's index exceeds what 31 bits hold.
bool needs64BitIndices(const KernelProgram &program);

/// How many points there are, and how they lie: "6144 = 96 x 64 (i0, i1, …)".
std::string describePoints(const KernelProgram &program);

/// Bytes of an element in memory; an i1 takes a byte.
int64_t getElementBytes(mlir::Type type);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ITERATIONSPACE_H
