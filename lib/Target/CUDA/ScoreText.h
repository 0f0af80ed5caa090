//===- ScoreText.h - Score functions as CUDA C++ ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SCORETEXT_H
#define CS336_LIB_TARGET_CUDA_SCORETEXT_H

#include "SoftCap.h"
#include "cs336/Dialect/CS336/IR/ScoreDistances.h"
#include "cs336/Target/CUDA/KernelSchedule.h"

namespace cs336::cuda {

/// The score function of a kernel's attention.
struct ScoreText {
  mlir::Block *function;
  ScoreDistances distances;
  /// True if scores only affect results of 16 bits, so that functions may be approximate.
  bool isRough;
  /// The factor of q · k in the scaled score.
  double scale;
  /// The kernel's operands for the tables.
  llvm::SmallVector<unsigned> tables;
  /// True if the kernel skips tiles that data hides, which requires `hidesTiles`. The structure then has the member
  /// `inspect`, and the interior is limited to tiles for which it returns that they are whole.
  bool inspectsTiles = false;
  /// True if the kernel adds linear biases in steps. The structure then has the members that describe such a bias.
  bool addsBiasInSteps = false;
  /// True if a matmul adds these steps, which requires `hasBiasSteps` and `isInteriorOrHidden`.
  bool multipliesBiasSteps = false;
  /// True if the kernel computes soft caps together with exponentials. The structure then has the members that describe
  /// such a cap.
  bool capsWithExponentials = false;
  /// True if the forward kernel hides single pairs, but never computes scores for them, which requires
  /// `isInteriorOrHidden`.
  bool onlyHidesPairs = false;

  /// Returns the reason why the function has no text, which completes the sentence "it …", or an empty string.
  std::string whyUnknown(const DeviceKernel &kernel) const;
  /// Returns whether data can hide all pairs of a tile, in a way that kernels can find (ScoreInspection).
  bool hidesTiles(const DeviceKernel &kernel) const;
  /// Returns whether all visible pairs have interior scores: the scaled score, or, if the kernel skips no tiles that
  /// data hides, the scaled score plus a linear bias or with a soft cap.
  bool isInteriorOrHidden(const DeviceKernel &kernel) const;
  /// Returns whether interior scores are the scaled score plus a linear bias that is not a number.
  bool hasBiasSteps(const DeviceKernel &kernel) const;
  /// Writes the structure `Score`; runtime/kernels/attention.cuh describes its members.
  void emit(llvm::raw_ostream &os, const DeviceKernel &kernel) const;
  /// Returns the initializer of the structure: "{in3, in4}".
  std::string getInitializer(const DeviceKernel &kernel) const;

private:
  /// Returns the function as a function of scalars in the module, with the given results of comparisons, minima and
  /// maxima (lowerScoreToScalars).
  mlir::func::FuncOp
  lower(mlir::ModuleOp module,
        const llvm::DenseMap<mlir::Operation *, bool> &known = llvm::DenseMap<mlir::Operation *, bool>()) const;
  /// Returns the soft cap that the structure describes, given the function of interior scores.
  std::optional<SoftCap> findCap(mlir::func::FuncOp interior) const;
  /// Returns the operands for the tables, once each.
  llvm::SmallVector<unsigned> getOperands() const;
  /// Returns 2 if the kernels use the derivative, otherwise 1.
  unsigned getNumResults() const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SCORETEXT_H
