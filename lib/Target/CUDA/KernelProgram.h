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

/// A part of the iteration space: the points whose indices all lie in their ranges.
struct Box {
  struct Range {
    mlir::AffineExpr index;
    int64_t begin, end;
  };
  llvm::SmallVector<Range> ranges;
};

/// A value of the program: of one element of one tensor.
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
  /// Of a load or a gather: the only box where the element exists and is read; outside it the load is zero.
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

/// Neighbouring dimensions that are walked together: `begin`, …, `end` - 1.
struct LoopNest {
  unsigned begin, end;

  unsigned getNumDims() const { return end - begin; }
};

/// Rows of elements: those of `shape` that differ in their indices along `axes` only.
struct Rows {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<unsigned> axes;
};

/// What a kernel computes at one point (d0, d1, …) of its outputs, which all have one shape, or of boxes of that shape
/// that make them up. Indices are affine in the
/// point and in the loops of the reductions.
struct KernelProgram {
  /// Of all dimensions.
  llvm::SmallVector<int64_t> extents;
  /// The first holds the dimensions of a point, the others loops of reductions. Reductions share loops of equal extents
  /// unless one changes in the loops of another.
  llvm::SmallVector<LoopNest> nests;
  /// Operands come before their users.
  llvm::SmallVector<Scalar> scalars;
  llvm::SmallVector<Box> boxes;
  /// One an output, or one a box of it.
  llvm::SmallVector<Store> stores;

  const LoopNest &getPoint() const { return nests.front(); }
  llvm::ArrayRef<int64_t> getExtents(const LoopNest &nest) const;
  /// How often the innermost of the loops runs.
  int64_t getNumIterations(const LoopNest &nest) const;
  int64_t getNumPoints() const { return getNumIterations(getPoint()); }
  bool hasReductions() const { return nests.size() > 1; }

  /// Calls `fn` on every index of a load, an index, a box or a store.
  void forEachIndex(llvm::function_ref<void(mlir::AffineExpr &)> fn);
  void forEachIndex(llvm::function_ref<void(mlir::AffineExpr)> fn) const;

  /// The index that the scalar is, if it is nothing but one, maybe in another integer type.
  mlir::AffineExpr getConvertedIndex(unsigned id) const;
  /// Of a test whether an index equals a number that is none: the index, and the number.
  std::optional<std::pair<mlir::AffineExpr, unsigned>> getIndexTest(unsigned id) const;

  /// By scalar: whether it is an exponential of which only 16 bits are left in the outputs.
  llvm::SmallVector<bool> findRoughExponentials() const;

  /// What `roots` are computed from, the roots included, in order; nothing that is computed in a reduction's loops.
  llvm::SmallVector<unsigned> collectOperands(llvm::ArrayRef<unsigned> roots) const;

  /// Files of runtime/kernels that the text of the scalars uses.
  void collectDeviceSources(const DeviceKernel &kernel, DeviceSources &sources) const;

  /// Reads the linalg form of a kernel, through chains of `linalg.generic`, which may write boxes into each other's
  /// results, and changes of shape. On failure `whyNot` completes the sentence "it …".
  static mlir::FailureOr<KernelProgram> read(const DeviceKernel &kernel, std::string &whyNot);

  /// The same of a kernel whose outputs have the rows' shape or an element a row. A point is a row; the second nest
  /// goes through its elements, for the outputs of the rows' shape and for what is reduced along them.
  static mlir::FailureOr<KernelProgram> readRows(const DeviceKernel &kernel, const Rows &rows, std::string &whyNot);
};

/// What the combination of a reduction does not change: 0 of a sum.
mlir::TypedAttr getNeutralElement(const Scalar &reduced);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_KERNELPROGRAM_H
