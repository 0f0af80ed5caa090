//===- DeviceSources.h - The embedded files of runtime/kernels --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_DEVICESOURCES_H
#define CS336_LIB_TARGET_CUDA_DEVICESOURCES_H

#include "cs336/Target/CUDA/KernelSchedule.h"

namespace cs336::cuda {

/// Writes files of runtime/kernels without their header comments, dependencies first.
void emitDeviceSources(const DeviceSources &sources, llvm::raw_ostream &os);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_DEVICESOURCES_H
