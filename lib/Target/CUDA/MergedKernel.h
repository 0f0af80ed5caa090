//===- MergedKernel.h - One kernel for several launches ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_MERGEDKERNEL_H
#define CS336_LIB_TARGET_CUDA_MERGEDKERNEL_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

namespace cs336::cuda {

/// The maximum size of a launch's parameters in bytes.
inline constexpr size_t maxParameterBytes = 32764;

/// The separate inputs of the members, one member after the other, then their shared inputs.
template <typename T, typename GetInputs>
llvm::SmallVector<T> collectInputs(unsigned numMembers, llvm::ArrayRef<bool> isShared, GetInputs getInputs) {
  llvm::SmallVector<T> inputs;
  for (unsigned member = 0; member < numMembers; ++member)
    for (auto [input, shared] : llvm::zip_equal(getInputs(member), isShared))
      if (!shared)
        inputs.push_back(input);
  for (auto [input, shared] : llvm::zip_equal(getInputs(0), isShared))
    if (shared)
      inputs.push_back(input);
  return inputs;
}

/// Creates a kernel with the bodies of all `kernels`, which do the same computation, in their order. Its inputs are
/// those of `collectInputs`. The kernel is not part of a module yet, and is named by its contents.
exec::KernelOp mergeKernels(llvm::ArrayRef<exec::KernelOp> kernels, llvm::ArrayRef<bool> isShared, mlir::Location loc);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_MERGEDKERNEL_H
