//===- AttentionProblem.h - An attention as kernels see it ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H
#define CS336_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H

#include "AttentionTiles.h"
#include "ScoreText.h"
#include "cs336/Target/CUDA/KernelSchedule.h"

namespace cs336::cuda {

/// The problem of a kernel that is one attention or its gradient: its sizes, options and operands.
struct AttentionProblem {
  /// An operand of the operation or a result.
  struct Role {
    /// Query, Key, Value, Output, LogSumExp, OutputGradient, QueryGradient, KeyGradient, ValueGradient.
    llvm::StringRef name;
    /// The kernel's operand; not set for a result that the kernel does not have.
    std::optional<unsigned> operand;
  };
  /// Strides of an operand in elements, and the alignment of its addresses and strides in bytes.
  struct Layout {
    int64_t batch = 0, position = 0, head = 0, alignment = 16;
  };

  /// Fails if `kernel` is not an attention or its operands have other layouts. `whyNot` then completes the sentence "it
  /// …", or is empty if the kernel contains no attention.
  static mlir::FailureOr<AttentionProblem> read(const DeviceKernel &kernel, std::string &whyNot);

  static Layout getLayout(const DeviceKernel &kernel, unsigned operand);

  /// Returns the kernel's operand for a role; not set for a result that the kernel does not have.
  std::optional<unsigned> getOperand(llvm::StringRef role) const;
  /// Returns the text of the parameters of these roles, of `last` if it is not empty, and, if `takesScore`, of the
  /// score function if there is one.
  std::string getArguments(const DeviceKernel &kernel, llvm::ArrayRef<llvm::StringRef> names, llvm::StringRef last = "",
                           bool takesScore = true) const;
  /// Returns a text that is equal for two kernels only if every schedule takes the same time for both: the sizes, the
  /// type, the layouts of the operands, and a hash of the score function. See TunableKernel::problem.
  std::string describe(const DeviceKernel &kernel) const;
  /// Adds the files of the types of all operands and of the score function, whose tables and numbers may have others
  /// than `element`.
  void collectTypeSources(const DeviceKernel &kernel, DeviceSources &sources) const;
  /// Writes the structure that describes the problem to the templates of runtime/kernels.
  void emit(llvm::raw_ostream &os, const DeviceKernel &kernel, llvm::StringRef name) const;

  AttentionSizes sizes;
  double scale;
  bool isCausal, isBackward;
  mlir::Type element;
  AttentionArithmetic arithmetic;
  /// In the operation's order.
  llvm::SmallVector<Role> roles;
  std::optional<ScoreText> score;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H
