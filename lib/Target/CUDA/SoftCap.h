//===- SoftCap.h - Soft caps of scores --------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SOFTCAP_H
#define CS336_LIB_TARGET_CUDA_SOFTCAP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cs336::cuda {

/// A score function c · tanh(slope · s) of the scaled score s. Forward kernels by warpgroups compute it together with
/// the exponential (runtime/kernels/warpgroup_soft_cap.cuh).
struct SoftCap {
  double cap, slope;

  /// Returns the soft cap if the first result of a function of scalars is one, in float32, that the kernels can
  /// compute: with a cap from 0 to 53, and an argument of tanh that is `scale` · q · k times a number for which no
  /// power of q · k overflows.
  static std::optional<SoftCap> find(mlir::func::FuncOp scalars, double scale);
  /// Returns the text of the members of the structure `Score` that describe the cap.
  std::string print(mlir::MLIRContext *context) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SOFTCAP_H
