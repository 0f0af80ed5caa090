//===- ReductionKernel.h - Kernels that reduce, threads sharing the work -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_REDUCTIONKERNEL_H
#define CS336_LIB_TARGET_CUDA_REDUCTIONKERNEL_H

#include "ScalarEmitter.h"

namespace cs336::cuda {

/// A program in which all reductions have the same loops, and none is in the loops of another.
struct Reduction {
  KernelProgram program;
  /// Scalars that are reductions.
  llvm::SmallVector<unsigned> reduced;
  LoopNest loops;

  /// Reads a kernel and merges its dimensions. On failure `whyNot` completes the sentence "it …".
  static mlir::FailureOr<Reduction> read(const DeviceKernel &kernel, std::string &whyNot);
  /// Creates the kernel from a suitable program.
  static Reduction of(KernelProgram program);

  /// The terms of the reductions.
  llvm::SmallVector<unsigned> getCombined() const;
  int64_t getNumPoints() const { return program.getNumPoints(); }
  int64_t getNumElements() const { return program.getNumIterations(loops); }
};

/// Writes `combine3`, the function that combines two values for reduction number 3.
void emitCombiner(llvm::raw_ostream &os, const Scalar &reduced, unsigned number);

/// Writes `partial3`, an accumulator or a vector of accumulators, with its initial value.
void emitAccumulator(llvm::raw_ostream &os, const Scalar &reduced, unsigned number, int64_t width);

/// Returns the reduction's value from `result`, the combination of its terms, and its initial value.
Expression printResult(const KernelProgram &program, const ScalarEmitter &emitter, unsigned reduced,
                       const Expression &result);

/// The division of a reduction among blocks.
struct ReductionGrid {
  int64_t blocks;
  /// The number of blocks that compute the same points. If there are several, each stores its partial results in the
  /// workspace, and a second function combines them with one warp per point, always in the same order.
  int64_t parts = 1;

  static constexpr int64_t threadsPerBlock = 256;
  static constexpr int64_t threadsPerWarp = 32;
  static constexpr int64_t warpsPerBlock = threadsPerBlock / threadsPerWarp;
  /// The number of blocks of this size that keep a GPU busy.
  static constexpr int64_t blocksOfDevice = 2 * portableTarget.multiprocessors;
};

/// The common parts of the schedules of reductions: accumulators, the loop's body, partial results, and the computation
/// from the results. Each schedule determines the elements of a block and their division among its threads.
class ReductionKernel : public ScheduledKernel {
public:
  llvm::SmallVector<KernelFunction> getFunctions() const override;
  int64_t getWorkspaceBytes() const override;
  void collectDeviceSources(DeviceSources &sources) const override;
  void emit(llvm::raw_ostream &os) const override;

protected:
  ReductionKernel(const DeviceKernel &kernel, Reduction reduction, VectorAxis vectors, ReductionGrid grid)
      : kernel(kernel), reduction(std::move(reduction)), vectors(vectors), grid(grid),
        indices(needs64Bit(this->reduction, grid)) {}

  /// Returns whether vectors are along a dimension of a point. Otherwise a vector consists of terms of one reduction.
  bool holdsPoints() const { return vectors.width > 1 && vectors.dim < reduction.program.getPoint().end; }
  /// Writes the body of the function that reads the operands.
  virtual void emitStage(llvm::raw_ostream &os) const = 0;

  /// Writes `combine0`, …: functions of two values.
  void emitCombiners(llvm::raw_ostream &os) const;
  /// Writes `partial0`, …: accumulators of a thread, vectors of `width`.
  void emitAccumulators(llvm::raw_ostream &os, int64_t width) const;
  /// Writes the body of the loop and its closing brace. With a `step` of one element it is the loop over the elements
  /// that remain after the vectors.
  void emitLoopBody(llvm::raw_ostream &os, llvm::StringRef indent, VectorAxis step) const;
  /// Writes `result0`, …: the accumulators, combined by `combineThreads`, the head of a call of a function of
  /// runtime/kernels.
  void emitResults(llvm::raw_ostream &os, llvm::StringRef combineThreads) const;
  /// In the threads that have results: writes code that stores the outputs, or that stores the results as those of
  /// `part` for the point in `position`.
  void emitEnd(llvm::raw_ostream &os, llvm::StringRef position) const;

  /// Writes `parts0`, …: pointers to the parts' results in the workspace.
  void emitWorkspace(llvm::raw_ostream &os) const;
  /// Computes outputs from `result0`, ….
  void emitOutputs(llvm::raw_ostream &os, VectorAxis vectors) const;
  mlir::Type getType(unsigned number) const { return reduction.program.scalars[reduction.reduced[number]].type; }

  const DeviceKernel kernel;
  const Reduction reduction;
  const VectorAxis vectors;
  const ReductionGrid grid;
  const IndexPrinter indices;

private:
  static bool needs64Bit(const Reduction &reduction, const ReductionGrid &grid);
  /// Returns the size of all parts' results of a reduction in bytes.
  int64_t getPartialBytes(unsigned number) const;
  /// Writes the second function, which combines the parts' results.
  void emitCombiningStage(llvm::raw_ostream &os) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_REDUCTIONKERNEL_H
