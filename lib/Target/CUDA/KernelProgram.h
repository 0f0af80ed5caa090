//===- KernelProgram.h - One element of a kernel's outputs ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_KERNELPROGRAM_H
#define CS336_LIB_TARGET_CUDA_KERNELPROGRAM_H

#include "cs336/Target/CUDA/KernelSchedule.h"
#include "mlir/IR/AffineExpr.h"

#include <optional>

namespace cs336::cuda {

/// A part of the iteration space: the points whose indices are all in their ranges.
struct Box {
  struct Range {
    mlir::AffineExpr index;
    int64_t begin, end;
  };
  llvm::SmallVector<Range> ranges;
};

/// A value of the program: one element of one tensor.
struct Scalar {
  enum class Kind {
    Load,      ///< element `index` of the buffer of `operand`
    Gather,    ///< the element of the buffer of `operand` at the indices `operands`, which the kernel computes
    Table,     ///< element `index` of the table `table`
    Index,     ///< the number `index`
    Constant,  ///< `constant`
    Operation, ///< `op` applied to `operands`
    Choice,    ///< in `box` the first of `operands`, elsewhere the second
    Reduced,   ///< `op` combines the second of `operands` and the first at every point of the loops `nest`
  };
  Kind kind;
  mlir::Type type;
  unsigned operand = 0;
  mlir::AffineExpr index = {};
  mlir::TypedAttr constant = {};
  mlir::Operation *op = nullptr;
  llvm::SmallVector<unsigned, 3> operands = {};
  /// For a load or a gather: the box in which the element exists and is read. Outside it the load is zero.
  std::optional<unsigned> box = std::nullopt;
  mlir::DenseElementsAttr table = {};
  unsigned nest = 0;
};

/// Writes a scalar to element `index` of the buffer of `operand`.
struct Store {
  unsigned operand;
  mlir::AffineExpr index;
  unsigned value;
};

/// Consecutive dimensions of one loop nest: `begin`, …, `end` - 1.
struct LoopNest {
  unsigned begin, end;

  unsigned getNumDims() const { return end - begin; }
};

/// Rows: a row is the elements of `shape` that differ only in their indices along `axes`.
struct Rows {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<unsigned> axes;
};

/// The computation of a kernel at one point (d0, d1, …) of its outputs. All outputs have one shape, or consist of boxes
/// of one shape. Indices are affine in the point and in the loops of the reductions.
struct KernelProgram {
  /// The extents of all dimensions.
  llvm::SmallVector<int64_t> extents;
  /// The first nest contains the dimensions of a point, the others the loops of reductions. Reductions share loops of
  /// equal extents unless one depends on the loops of another.
  llvm::SmallVector<LoopNest> nests;
  /// Operands come before their users.
  llvm::SmallVector<Scalar> scalars;
  llvm::SmallVector<Box> boxes;
  /// One store per output, or one per box of it.
  llvm::SmallVector<Store> stores;

  const LoopNest &getPoint() const { return nests.front(); }
  llvm::ArrayRef<int64_t> getExtents(const LoopNest &nest) const;
  /// Returns the number of iterations of the innermost loop.
  int64_t getNumIterations(const LoopNest &nest) const;
  int64_t getNumPoints() const { return getNumIterations(getPoint()); }
  bool hasReductions() const { return nests.size() > 1; }

  /// Calls `fn` on every index of a load, an index, a box or a store.
  void forEachIndex(llvm::function_ref<void(mlir::AffineExpr &)> fn);
  void forEachIndex(llvm::function_ref<void(mlir::AffineExpr)> fn) const;

  /// Returns the index if the scalar is only an index, possibly converted to another integer type.
  mlir::AffineExpr getConvertedIndex(unsigned id) const;
  /// For a comparison of an index with a number that is not an index: returns the index and the number.
  std::optional<std::pair<mlir::AffineExpr, unsigned>> getIndexTest(unsigned id) const;

  /// Returns for each scalar whether it is an exponential that affects outputs only after rounding to 16 bits.
  llvm::SmallVector<bool> findRoughExponentials() const;

  /// Returns the scalars that `roots` are computed from, in order, including the roots, but not scalars that are
  /// computed in a reduction's loops.
  llvm::SmallVector<unsigned> collectOperands(llvm::ArrayRef<unsigned> roots) const;

  /// Returns the files of runtime/kernels that the text of the scalars uses.
  void collectDeviceSources(const DeviceKernel &kernel, DeviceSources &sources) const;

  /// Reads the linalg form of a kernel, through chains of `linalg.generic`, which may write boxes into each other's
  /// results, and changes of shape. On failure `whyNot` completes the sentence "it …".
  static mlir::FailureOr<KernelProgram> read(const DeviceKernel &kernel, std::string &whyNot);

  /// As `read`, for a kernel whose outputs have the rows' shape or one element per row. A point is a row. The second
  /// nest iterates over its elements, for outputs of the rows' shape and for reductions along rows.
  static mlir::FailureOr<KernelProgram> readRows(const DeviceKernel &kernel, const Rows &rows, std::string &whyNot);
};

/// Returns the neutral element of a reduction: 0 for a sum.
mlir::TypedAttr getNeutralElement(const Scalar &reduced);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_KERNELPROGRAM_H
