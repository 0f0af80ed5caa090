//===- FunctionName.h - Names that kernels can have -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_FUNCTIONNAME_H
#define CS336_LIB_TARGET_CUDA_FUNCTIONNAME_H

#include "llvm/ADT/StringRef.h"

namespace cs336 {

/// Returns whether CUDA C++ accepts `name` as that of a global function: an identifier, and not a keyword.
bool isFunctionName(llvm::StringRef name);

} // namespace cs336

#endif // CS336_LIB_TARGET_CUDA_FUNCTIONNAME_H
