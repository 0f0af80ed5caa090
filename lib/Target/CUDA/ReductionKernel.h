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

/// A program all of whose reductions run through the same loops, none of them in the loops of another.
struct Reduction {
  KernelProgram program;
  /// Scalars that are reductions.
  llvm::SmallVector<unsigned> reduced;
  LoopNest loops;

  /// Reads a kernel and merges its dimensions. On failure `whyNot` completes the sentence "it …".
  static mlir::FailureOr<Reduction> read(const DeviceKernel &kernel, std::string &whyNot);
  /// Of a program that fits.
  static Reduction of(KernelProgram program);

  /// What the reductions combine.
  llvm::SmallVector<unsigned> getCombined() const;
  int64_t getNumPoints() const { return program.getNumPoints(); }
  int64_t getNumElements() const { return program.getNumIterations(loops); }
};

/// Writes `combine3`, a function of two values, of the reduction with that number.
void emitCombiner(llvm::raw_ostream &os, const Scalar &reduced, unsigned number);

/// Writes `partial3`, an accumulator or a vector of them, as it begins.
void emitAccumulator(llvm::raw_ostream &os, const Scalar &reduced, unsigned number, int64_t width);

/// The reduction's value from `result`, what its terms combine to, and what it starts with.
Expression printResult(const KernelProgram &program, const ScalarEmitter &emitter, unsigned reduced,
                       const Expression &result);

/// How the blocks share a reduction.
struct ReductionGrid {
  int64_t blocks;
  /// Blocks that work for the same points. With several, each leaves what it found in the workspace and a second
  /// function puts that together, a warp a point, always in the same order.
  int64_t parts = 1;

  static constexpr int64_t threadsPerBlock = 256;
  static constexpr int64_t threadsPerWarp = 32;
  static constexpr int64_t warpsPerBlock = threadsPerBlock / threadsPerWarp;
  /// As many blocks of that size as keep the largest GPU busy.
  static constexpr int64_t blocksOfDevice = 2 * 132;
};

/// What the schedules of reductions have in common: accumulators, the loop's body, partial results, and what is
/// computed from the results. Where a block works and how its threads share that is the schedule's.
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

  /// Returns whether the vectors lie along a dimension of a point; else each is of elements that are combined.
  bool holdsPoints() const { return vectors.width > 1 && vectors.dim < reduction.program.getPoint().end; }
  /// Writes the body of the function that reads the operands.
  virtual void emitStage(llvm::raw_ostream &os) const = 0;

  /// `combine0`, …: functions of two values.
  void emitCombiners(llvm::raw_ostream &os) const;
  /// `partial0`, …: accumulators of a thread, vectors of `width`.
  void emitAccumulators(llvm::raw_ostream &os, int64_t width) const;
  /// The body of the loop and its closing brace; with `step` of one element, of a loop over what vectors leave.
  void emitLoopBody(llvm::raw_ostream &os, llvm::StringRef indent, VectorAxis step) const;
  /// `result0`, …: what `combineThreads`, the head of a call of a function of runtime/kernels, makes of the
  /// accumulators.
  void emitResults(llvm::raw_ostream &os, llvm::StringRef combineThreads) const;
  /// Of the threads that have results: stores what is computed from them, or stores them as those of `part` for the
  /// point in `position`.
  void emitEnd(llvm::raw_ostream &os, llvm::StringRef position) const;

  /// `parts0`, …: where in the workspace the results of parts are.
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
  /// Bytes of all parts' results of a reduction.
  int64_t getPartialBytes(unsigned number) const;
  /// The second function: combines the parts' results.
  void emitCombiningStage(llvm::raw_ostream &os) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_REDUCTIONKERNEL_H
