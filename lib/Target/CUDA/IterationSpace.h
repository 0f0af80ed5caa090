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

/// Returns nullopt if the index has divisions or remainders.
std::optional<LinearForm> getLinearForm(mlir::AffineExpr index, unsigned numDims);

/// Drops dimensions of extent one, and merges neighbouring dimensions of a nest that every index traverses like one
/// dimension, so that threads divide by as few extents as possible: for contiguous operands of one shape by none.
void mergeDimensions(KernelProgram &program);

/// Returns the largest value of the index. Raises `largestPart`, if given, to the largest value of the index or a part
/// of it.
int64_t getLargestValue(mlir::AffineExpr index, llvm::ArrayRef<int64_t> extents, int64_t *largestPart = nullptr);

/// A load or a store whose index grows by `step` along a dimension. With a step of 2, the accesses of the elements
/// `base` and `base` + 1 are interleaved: a vector has the elements of both.
struct SteppedAccess {
  int64_t step;
  mlir::AffineExpr base;
  /// The number of the element after `base`, less than `step`.
  int64_t place;

  /// For an index with a linear form that depends on the dimension.
  static SteppedAccess get(mlir::AffineExpr index, unsigned dim, unsigned numDims);
};

/// Accesses that ScalarEmitter can write as vectors.
enum class VectorAccess { Contiguous, Interleaved };

/// Returns the number of consecutive points along `dim` per thread: at most 8, and so many that the widest access has
/// 16 bytes. A wider vector would take several accesses, each of which leaves gaps between the threads of a warp. If
/// the program has reductions, only loads count: a training step stores more values than a forward pass, and both must
/// add in the same order. The number is one unless every operand either is contiguous along `dim` and aligned or does
/// not depend on it, and no box begins or ends within a vector. If `access` allows it, an operand may also be
/// contiguous because interleaved accesses together access all of its elements.
int64_t chooseVectorWidth(const KernelProgram &program, const DeviceKernel &kernel, unsigned dim,
                          VectorAccess access = VectorAccess::Contiguous);

/// Returns whether the operands from which most elements are read are contiguous along the dimension.
bool isContiguousAlong(const KernelProgram &program, unsigned dim);

/// Returns whether the number of points, of a nest's iterations or an operand's index exceeds what 31 bits hold.
bool needs64BitIndices(const KernelProgram &program);

/// Describes the number of points and the extents: "6144 = 96 x 64 points (i0, i1, …)".
std::string describePoints(const KernelProgram &program);

/// Returns the size of an element in memory in bytes; an i1 takes one byte.
int64_t getElementBytes(mlir::Type type);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ITERATIONSPACE_H
