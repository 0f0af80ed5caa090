//===- KernelPlan.h - Loops, rows and storage of a kernel --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_KERNELPLAN_H
#define CS336_LIB_TARGET_CPU_KERNELPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallBitVector.h"
#include <optional>
#include <vector>

namespace cs336::cpu {

/// Constants and temporaries start on a cache line, which is as wide as the widest vector.
inline constexpr int64_t kStorageAlignment = 64;

/// The storage of a tensor in the kernel: an operand, a constant, or a temporary of the kernel.
struct Storage {
  enum class Kind { Operand, Constant, Temporary };

  Storage(Kind kind, mlir::ShapedType type);

  Kind kind;
  /// Position among the kernel's operands, inputs before outputs.
  unsigned operand = 0;
  mlir::DenseElementsAttr constant;
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  /// Strides in elements. Element 0 is at the start.
  llvm::SmallVector<int64_t> strides;
  /// The number of elements of a temporary, and its offset in the thread's memory in bytes.
  int64_t elements = 0, offset = 0;
  /// Returns whether a statement writes the storage, and whether one accesses it at computed indices.
  bool isWritten = false, isScattered = false;
};

/// An element address that is linear in the loops' variables: offset + Σ coefficients[loop]·variable[loop].
struct Access {
  unsigned storage;
  int64_t offset = 0;
  /// One coefficient per loop of the kernel; 0 for loops that the address does not depend on.
  llvm::SmallVector<int64_t> coefficients;

  bool operator==(const Access &other) const = default;
};

/// An operation of the kernel's body: a `linalg.generic`, or an `scf.for` that is copied unchanged (`isOpaque`).
struct Statement {
  explicit Statement(mlir::Operation *op) : op(op) {}

  mlir::Operation *op;
  bool isOpaque = false;
  /// The kernel's loop for every dim of a generic; none for dims of size 1.
  llvm::SmallVector<std::optional<unsigned>> loopOfDim;
  /// The loops around the statement, and those of them that it reduces over.
  llvm::SmallBitVector loops, reductions;
  std::vector<Access> inputs, outputs;

  mlir::linalg::GenericOp getGeneric() const { return llvm::cast<mlir::linalg::GenericOp>(op); }
  /// Returns whether output `index` combines the values of several iterations.
  bool isReduction(unsigned index) const;
};

/// Statements that run in one loop nest, in order; `loops` are its loops inside of a row, outermost first.
struct Phase {
  llvm::SmallVector<unsigned> statements;
  llvm::SmallVector<unsigned> loops;
};

/// The execution of a kernel: for every row, the phases one after the other.
///
/// Loops of different statements that walk the same axis of the same tensor are one loop of the kernel. Rows are
/// independent of each other: threads share them.
struct KernelPlan {
  std::vector<Storage> storages;
  llvm::DenseMap<mlir::Value, unsigned> storageOf;
  llvm::SmallVector<int64_t> loopSizes;
  std::vector<Statement> statements;
  std::vector<Phase> phases;

  /// A row is an iteration of these loops, outermost first.
  llvm::SmallVector<unsigned> rowLoops;
  /// Alternative to `rows` if only the innermost loop is independent: a row is one iteration of this loop, which stays
  /// inside the phases and iterates over the caller's range there.
  std::optional<unsigned> rangeLoop;
  int64_t rows = 1;
  /// The minimum number of rows per thread.
  int64_t grain = 1;
  /// The memory per thread for temporaries, and the position of its address after the operands' addresses; not set if
  /// they fit on the thread's stack.
  int64_t threadBytes = 0;
  unsigned threadMemory = 0;
};

/// Plans the kernel that `lowerKernelToLinalg` built. `operandTypes` are the operands' types (strided memrefs, inputs
/// before outputs). Fails with a diagnostic if an indexing map is not linear.
mlir::FailureOr<KernelPlan> planKernel(mlir::func::FuncOp func, mlir::TypeRange operandTypes);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_KERNELPLAN_H
