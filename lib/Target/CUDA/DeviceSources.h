//===- DeviceSources.h - The embedded files of runtime/kernels --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_DEVICESOURCES_H
#define CS336_LIB_TARGET_CUDA_DEVICESOURCES_H

#include "llvm/ADT/StringRef.h"

namespace cs336::cuda {

/// The code in the file of that name, without the comment that heads it.
llvm::StringRef getDeviceSource(llvm::StringRef name);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_DEVICESOURCES_H
