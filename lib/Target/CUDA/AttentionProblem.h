//===- AttentionProblem.h - An attention as kernels see it ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H
#define CS336_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H

#include "AttentionTiles.h"
#include "cs336/Target/CUDA/KernelSchedule.h"

namespace cs336::cuda {

/// What a kernel that is one attention, or one gradient of it, computes, and from what.
struct AttentionProblem {
  /// An operand of the operation or a result.
  struct Role {
    /// Query, Key, Value, Output, LogSumExp, OutputGradient, QueryGradient, KeyGradient, ValueGradient.
    llvm::StringRef name;
    /// The kernel's operand; nothing for a result that the kernel does not have.
    std::optional<unsigned> operand;
  };
  /// Strides of an operand in elements, and what its addresses and they are multiples of, in bytes.
  struct Layout {
    int64_t batch = 0, position = 0, head = 0, alignment = 16;
  };

  /// Fails if `kernel` computes something else, or from what lies otherwise: `whyNot` then completes the sentence "it
  /// …", or is empty if there is no attention in it.
  static mlir::FailureOr<AttentionProblem> read(const DeviceKernel &kernel, std::string &whyNot);

  static Layout getLayout(const DeviceKernel &kernel, unsigned operand);

  /// The parameters of these roles, in text, and `last` where that is not empty.
  std::string getArguments(const DeviceKernel &kernel, llvm::ArrayRef<llvm::StringRef> names,
                           llvm::StringRef last = "") const;
  /// Writes the structure that describes the problem to the templates of runtime/kernels.
  void emit(llvm::raw_ostream &os, const DeviceKernel &kernel, llvm::StringRef name) const;

  AttentionSizes sizes;
  double scale;
  bool isCausal, isBackward;
  mlir::Type element;
  AttentionArithmetic arithmetic;
  /// In the operation's order.
  llvm::SmallVector<Role> roles;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ATTENTIONPROBLEM_H
