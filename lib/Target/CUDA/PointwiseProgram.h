//===- PointwiseProgram.h - One element of a kernel's outputs ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_POINTWISEPROGRAM_H
#define CS336_LIB_TARGET_CUDA_POINTWISEPROGRAM_H

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
    Index,     ///< the number `index`
    Constant,  ///< `constant`
    Operation, ///< `op` applied to `operands`
    Choice,    ///< in `box` the first of `operands`, elsewhere the second
  };
  Kind kind;
  mlir::Type type;
  unsigned operand = 0;
  mlir::AffineExpr index = {};
  mlir::TypedAttr constant = {};
  mlir::Operation *op = nullptr;
  llvm::SmallVector<unsigned, 3> operands = {};
  /// Of a load: the only box where the element exists and is read; outside it the load is zero.
  std::optional<unsigned> box = std::nullopt;
};

/// Writes a scalar to element `index` of the buffer of `operand`.
struct Store {
  unsigned operand;
  mlir::AffineExpr index;
  unsigned value;
};

/// What a pointwise kernel computes at one point (d0, d1, …) of its iteration space. Indices are affine in the point.
struct PointwiseProgram {
  llvm::SmallVector<int64_t> extents;
  /// Operands come before their users.
  llvm::SmallVector<Scalar> scalars;
  llvm::SmallVector<Box> boxes;
  /// One an output.
  llvm::SmallVector<Store> stores;

  int64_t getNumPoints() const;
  /// Calls `fn` on every index of a load, an index, a box or a store.
  void forEachIndex(llvm::function_ref<void(mlir::AffineExpr &)> fn);
  void forEachIndex(llvm::function_ref<void(mlir::AffineExpr)> fn) const;

  /// Reads the linalg form of a kernel, through chains of `linalg.generic`, which may write boxes into each other's
  /// results, and changes of shape. The iteration space is that of the outputs, which all have one shape. On failure
  /// `whyNot` completes the sentence "it …".
  static mlir::FailureOr<PointwiseProgram> read(const DeviceKernel &kernel, std::string &whyNot);
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_POINTWISEPROGRAM_H
