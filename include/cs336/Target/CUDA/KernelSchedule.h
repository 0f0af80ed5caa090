//===- KernelSchedule.h - Ways to run a kernel on the GPU -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_KERNELSCHEDULE_H
#define CS336_TARGET_CUDA_KERNELSCHEDULE_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CompiledKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace cs336::cuda {

using cs336::KernelFunction;

/// A kernel as schedules read it: linalg on tensors, and how each operand lies in memory. Of a kernel whose outputs
/// have several shapes, each shape is a part of its own, except for the schedules of outputs of any shapes.
struct DeviceKernel {
  exec::KernelOp source;
  /// The name of the `__global__` function that writes the outputs: the kernel's symbol, numbered if there are parts.
  std::string name;
  /// Takes the inputs, then the outputs' previous contents; returns a tensor an output.
  mlir::func::FuncOp function;
  /// One an argument of `function`.
  llvm::SmallVector<mlir::MemRefType> operands;
  /// Bytes that the address of element 0 of each operand is a multiple of, in every launch.
  llvm::SmallVector<int64_t> alignments;
  unsigned numInputs;
  /// The outputs to write.
  llvm::SmallVector<unsigned> outputs;
  /// Whether a launch puts an output over an input that rows of it are computed from: all of a row is to be read first.
  bool overwritesRows = false;

  /// Storage is aligned to at least this.
  static constexpr int64_t storageAlignment = 16;

  /// All of a kernel, whose linalg form is built at the builder's insertion point. Fails with a diagnostic where it has
  /// none. The alignments are those of storage: whoever knows of launches that pass views lowers them.
  static mlir::FailureOr<DeviceKernel> read(exec::KernelOp kernel, mlir::OpBuilder &builder);

  /// `in0`, `in1`, …, `out0`, …: the names of the function's parameters.
  std::string getOperandName(unsigned operand) const;
  llvm::ArrayRef<int64_t> getOutputShape(unsigned output) const { return operands[numInputs + output].getShape(); }
};

/// Files of runtime/kernels that a kernel's text uses, by name.
using DeviceSources = llvm::SmallSetVector<llvm::StringRef, 4>;

/// A kernel with every choice made.
class ScheduledKernel {
public:
  virtual ~ScheduledKernel() = default;
  /// What one launch of the kernel runs, one after the other. All take the same operands: the kernel's, then the
  /// workspace if there is one.
  virtual llvm::SmallVector<KernelFunction> getFunctions() const = 0;
  /// Bytes of the scratch memory that the functions hand to each other; 0 if there is none.
  virtual int64_t getWorkspaceBytes() const { return 0; }
  virtual void collectDeviceSources(DeviceSources &sources) const = 0;
  /// One sentence for the comment above the kernel: what a thread does.
  virtual std::string describe() const = 0;
  /// Lines of that comment that say what the operands are, where a line each would be too many.
  virtual std::string describeOperands() const { return ""; }
  /// Writes the functions.
  virtual void emit(llvm::raw_ostream &os) const = 0;
};

/// Returns `kernel`, or null with the reason in `whyNot` if a function of it needs more than 2^31 - 1 blocks.
std::unique_ptr<ScheduledKernel> requireGrid(std::unique_ptr<ScheduledKernel> kernel, std::string &whyNot,
                                             llvm::StringRef reason = "needs more blocks than a grid has");

/// One way of running kernels: states what it accepts, and writes the text of what it accepted.
class KernelSchedule {
public:
  virtual ~KernelSchedule() = default;
  virtual llvm::StringRef getName() const = 0;
  /// Whether a row is written only after all that is computed from it, outputs of other shapes too, was read.
  virtual bool canOverwriteRows() const { return false; }
  /// Null if the schedule does not fit the kernel; `whyNot` then completes the sentence "it …". It stays empty where
  /// the schedule is for single operations and the kernel has none of them.
  virtual std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const = 0;
};

/// Attention and its gradient, without scores in memory; see AttentionSchedule.cpp.
std::unique_ptr<KernelSchedule> createAttentionSchedule();

/// The same without tiles, of any sizes and in float64; see PlainAttentionSchedule.cpp.
std::unique_ptr<KernelSchedule> createPlainAttentionSchedule();

/// One grid for a kernel that does one thing to many buffers; see BatchedSchedule.cpp.
std::unique_ptr<KernelSchedule> createBatchedSchedule();

/// The same for reductions to single elements; see BatchedReductionSchedule.cpp.
std::unique_ptr<KernelSchedule> createBatchedReductionSchedule();

/// A team of threads keeps a row while its reductions follow each other; see RowsSchedule.cpp.
std::unique_ptr<KernelSchedule> createRowsSchedule();

/// Each thread computes the same few neighbouring elements of every output; see PointwiseSchedule.cpp.
std::unique_ptr<KernelSchedule> createPointwiseSchedule();

/// Neighbouring threads reduce neighbouring columns; see ColumnReductionSchedule.cpp.
std::unique_ptr<KernelSchedule> createColumnReductionSchedule();

/// A warp, a block or several blocks reduce a row; see RowReductionSchedule.cpp.
std::unique_ptr<KernelSchedule> createRowReductionSchedule();

/// Each thread computes one element with all its reductions; see SerialReductionSchedule.cpp.
std::unique_ptr<KernelSchedule> createSerialReductionSchedule();

/// Adds rows to those of a table that the kernel computes; see ScatterSchedule.cpp.
std::unique_ptr<KernelSchedule> createScatterSchedule();

/// Blocks turn tiles of operands that lie in another order; see TransposeSchedule.cpp.
std::unique_ptr<KernelSchedule> createTransposeSchedule();

/// The schedules of single operations that have kernels of their own, which come first.
llvm::SmallVector<std::unique_ptr<KernelSchedule>> createOperationSchedules();

/// The schedules of outputs of any shapes, which come before those of outputs of one.
llvm::SmallVector<std::unique_ptr<KernelSchedule>> createWholeKernelSchedules();

/// All schedules of outputs of one shape, the most specialised first.
llvm::SmallVector<std::unique_ptr<KernelSchedule>> createKernelSchedules();

} // namespace cs336::cuda

#endif // CS336_TARGET_CUDA_KERNELSCHEDULE_H
