//===- KernelSchedule.h - Ways to run a kernel on the GPU -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_KERNELSCHEDULE_H
#define CS336_TARGET_CUDA_KERNELSCHEDULE_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CUDA/TargetDescription.h"
#include "cs336/Target/CompiledKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace cs336::cuda {

using cs336::KernelFunction;

/// A kernel as schedules read it: linalg on tensors, and the layout of each operand in memory. If the outputs of a
/// kernel have several shapes, each shape is a part with its own DeviceKernel, except for the schedules of outputs of
/// any shapes.
struct DeviceKernel {
  exec::KernelOp source;
  /// The name of the `__global__` function that writes the outputs: the kernel's symbol, numbered if there are parts.
  std::string name;
  /// Takes the inputs, then the outputs' previous contents; returns one tensor per output.
  mlir::func::FuncOp function;
  /// One type per argument of `function`.
  llvm::SmallVector<mlir::MemRefType> operands;
  /// Alignment in bytes of the address of element 0 of each operand, in every launch.
  llvm::SmallVector<int64_t> alignments;
  unsigned numInputs;
  /// The outputs to write.
  llvm::SmallVector<unsigned, 8> outputs;
  /// True if a launch writes an output over an input from whose rows it is computed, so that a whole row must be read
  /// before it is written.
  bool overwritesRows = false;
  /// Parameters that were selected for the schedule, by name; null if the schedule chooses them.
  mlir::DictionaryAttr parameters = {};

  /// The least alignment of storage.
  static constexpr int64_t storageAlignment = 16;

  /// Reads a whole kernel, and builds its linalg form at the builder's insertion point. Fails with a diagnostic if it
  /// has no linalg form. The alignments are those of storage; callers lower them for launches with views.
  static mlir::FailureOr<DeviceKernel> read(exec::KernelOp kernel, mlir::OpBuilder &builder);

  /// Returns whether the kernel updates parameters by AdamW. All such kernels approximate quotients and roots in the
  /// same way, so that an update has the same bits whichever kernel does it. It then differs by 2^-22 of itself, less
  /// than the rounding of the parameter. With IEEE's quotients and roots, updates would wait for arithmetic instead of
  /// memory.
  bool updatesParameters() const;
  /// Returns the name of a function parameter: `in0`, `in1`, …, `out0`, ….
  std::string getOperandName(unsigned operand) const;
  llvm::ArrayRef<int64_t> getOutputShape(unsigned output) const { return operands[numInputs + output].getShape(); }
};

/// Names of the files of runtime/kernels that a kernel's text uses.
using DeviceSources = llvm::SmallSetVector<llvm::StringRef, 4>;

/// A kernel with every choice made.
class ScheduledKernel {
public:
  virtual ~ScheduledKernel() = default;
  /// Returns the functions that one launch runs, in order. All take the same operands: those of the kernel, then the
  /// workspace if there is one.
  virtual llvm::SmallVector<KernelFunction> getFunctions() const = 0;
  /// Returns the bytes of the workspace through which the functions exchange data; 0 for none.
  virtual int64_t getWorkspaceBytes() const { return 0; }
  virtual void collectDeviceSources(DeviceSources &sources) const = 0;
  /// Returns one sentence for the comment above the kernel: the work of a thread.
  virtual std::string describe() const = 0;
  /// Returns the chosen parameters, with which the schedule gives the same kernel again; null if the schedule has no
  /// parameters.
  virtual mlir::DictionaryAttr getParameters() const { return {}; }
  /// Returns lines for the comment above the kernel that describe all operands together, if one line per operand would
  /// be too long.
  virtual std::string describeOperands() const { return ""; }
  /// Writes the functions.
  virtual void emit(llvm::raw_ostream &os) const = 0;
};

/// Returns `kernel`, or null with the reason in `whyNot` if a function of it needs more than 2^31 - 1 blocks.
std::unique_ptr<ScheduledKernel> requireGrid(std::unique_ptr<ScheduledKernel> kernel, std::string &whyNot,
                                             llvm::StringRef reason = "needs more blocks than a grid has");

/// One way of running kernels: accepts or rejects a kernel, and writes the text of the kernels that it accepts.
class KernelSchedule {
public:
  virtual ~KernelSchedule() = default;
  virtual llvm::StringRef getName() const = 0;
  /// Returns whether a row is written only after all inputs of its computation, including those of outputs of other
  /// shapes, were read.
  virtual bool canOverwriteRows() const { return false; }
  /// Returns null if the schedule does not fit the kernel; `whyNot` then completes the sentence "it …". It stays empty
  /// if the schedule is for single operations and the kernel does not contain them.
  virtual std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const = 0;
  /// Returns parameters that are worth timing for a kernel that the schedule accepts, with those that `schedule`
  /// chooses first. Null parameters stand for a schedule without any. Empty if the schedule is not tuned.
  virtual llvm::SmallVector<mlir::DictionaryAttr> listCandidates(const DeviceKernel & /*kernel*/) const { return {}; }
};

/// Creates the schedule of attention and its gradient, which does not store scores in memory. See
/// AttentionSchedule.cpp.
std::unique_ptr<KernelSchedule> createAttentionSchedule(const TargetDescription &target);

/// Creates the schedule of attention for the tensor cores and copies of sm_90a. See WarpgroupAttentionSchedule.cpp.
std::unique_ptr<KernelSchedule> createWarpgroupAttentionSchedule(const TargetDescription &target);

/// Creates the schedule of gradients that only update parameters. See GradientUpdateSchedule.cpp.
std::unique_ptr<KernelSchedule> createGradientUpdateSchedule(const TargetDescription &target);

/// Creates the schedule of attention without tiles, for any sizes, also in float64. See PlainAttentionSchedule.cpp.
std::unique_ptr<KernelSchedule> createPlainAttentionSchedule();

/// Creates the schedule with one grid for a kernel that does the same work on many buffers. See BatchedSchedule.cpp.
std::unique_ptr<KernelSchedule> createBatchedSchedule();

/// Creates the same for reductions to single elements. See BatchedReductionSchedule.cpp.
std::unique_ptr<KernelSchedule> createBatchedReductionSchedule();

/// Creates the schedule in which a row team keeps a row while its reductions follow each other. See RowsSchedule.cpp.
std::unique_ptr<KernelSchedule> createRowsSchedule();

/// Creates the schedule in which each thread computes the same few consecutive elements of every output. See
/// PointwiseSchedule.cpp.
std::unique_ptr<KernelSchedule> createPointwiseSchedule();

/// Creates the schedule in which neighbouring threads reduce neighbouring columns. See ColumnReductionSchedule.cpp.
std::unique_ptr<KernelSchedule> createColumnReductionSchedule();

/// Creates the schedule in which a warp, a block or several blocks reduce a row. See RowReductionSchedule.cpp.
std::unique_ptr<KernelSchedule> createRowReductionSchedule();

/// Creates the schedule in which each thread computes one element with all its reductions. See
/// SerialReductionSchedule.cpp.
std::unique_ptr<KernelSchedule> createSerialReductionSchedule();

/// Creates the schedule that adds many rows to the rows of a table that the kernel computes. See
/// BucketedScatterSchedule.cpp.
std::unique_ptr<KernelSchedule> createBucketedScatterSchedule();

/// Creates the same for any number of rows. See ScatterSchedule.cpp.
std::unique_ptr<KernelSchedule> createScatterSchedule();

/// Creates the schedule in which blocks transpose tiles of operands with another order of elements. See
/// TransposeSchedule.cpp.
std::unique_ptr<KernelSchedule> createTransposeSchedule();

/// Creates the schedules of single operations with their own kernels. They come first. Schedules for the instructions
/// of the target precede those for all architectures.
llvm::SmallVector<std::unique_ptr<KernelSchedule>> createOperationSchedules(const TargetDescription &target);

/// Creates the schedules of outputs of any shapes. They come before those of outputs of one shape.
llvm::SmallVector<std::unique_ptr<KernelSchedule>> createWholeKernelSchedules(const TargetDescription &target);

/// Creates all schedules of outputs of one shape, the most specialised first.
llvm::SmallVector<std::unique_ptr<KernelSchedule>> createKernelSchedules(const TargetDescription &target);

} // namespace cs336::cuda

#endif // CS336_TARGET_CUDA_KERNELSCHEDULE_H
